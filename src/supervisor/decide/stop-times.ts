/**
 * How the grace period of a stop is split: nine tenths of it for the stop file and, if that succeeded, for the app to end by itself; the
 * last tenth for an app that ignored its stop file, from the stop signal to SIGKILL. Pure.
 *
 * A stop file that failed leaves nothing to wait for: the signal follows at once. So does it without a stop file.
 */
import type { AppEvent, AppRecord, RunnableApp, Stop, StopFileEnd } from "../types.ts";

/** How long the stop file may still take: the app has to get the signal while there is time to handle it. */
export function stopFileMs({ since, deadline }: Stop, now: number): number {
  return Math.max(0, lastTenth({ since, deadline }) - now);
}

/** When the processes get the stop signal; undefined before the stop file has ended. */
export function signalTime({ spec }: RunnableApp, { since, deadline, file }: Stop): number | undefined {
  if (!spec.stopFile && !file) return since;
  if (!file) return undefined;
  return file.problem === undefined ? Math.max(file.at, lastTenth({ since, deadline })) : file.at;
}

function lastTenth({ since, deadline }: Pick<Stop, "since" | "deadline">): number {
  return since + (deadline - since) * 0.9;
}

/** The record after the end of the stop file. What went wrong is in the message of the stop, and of the exit that follows. */
export function withStopFileEnd(
  record: AppRecord,
  stop: Stop,
  { problem }: StopFileEnd,
  now: number,
): { record: AppRecord; events: AppEvent[] } {
  const file = { at: now, ...(problem === undefined ? {} : { problem }) };
  const message = [record.message, problem].filter(Boolean).join("; ");
  const run = record.run && { ...record.run, stop: { ...stop, file } };
  return {
    record: { ...record, message, run },
    events: problem === undefined ? [] : [{
      type: "Warning",
      reason: "StopFileFailed",
      message: `${problem}; ${signalOf(record.app)} follows`,
    }],
  };
}

/** A record of an earlier version has none. */
export function signalOf({ spec }: RunnableApp): RunnableApp["spec"]["stopSignal"] {
  return spec.stopSignal ?? "SIGTERM";
}
