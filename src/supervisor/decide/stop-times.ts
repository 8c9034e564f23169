/**
 * How the grace period of a stop is split: nine tenths of it for the stop file at most, then, if that succeeded, half of the rest for the
 * app to end by itself, then the stop signal, and what is left before SIGKILL. Pure.
 *
 * Half, since the agent cannot know whether the stop file ends the app, or only prepares it for the signal: with less after the signal, an
 * app that then saves its data would be killed.
 *
 * A stop file that failed leaves nothing to wait for: the signal follows at once. So does it without a stop file.
 */
import type { AppEvent, AppRecord, RunnableApp, Stop, StopFileEnd } from "../types.ts";

/** How long the stop file may still take: the app has to get the signal while there is time to handle it. */
export function stopFileMs({ since, deadline }: Stop, now: number): number {
  return Math.max(0, since + (deadline - since) * 0.9 - now);
}

/** When the processes get the stop signal; undefined before the stop file has ended. */
export function signalTime({ spec }: RunnableApp, { since, deadline, file }: Stop): number | undefined {
  if (!spec.stopFile && !file) return since;
  if (!file) return undefined;
  return file.problem === undefined ? file.at + (deadline - file.at) / 2 : file.at;
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
