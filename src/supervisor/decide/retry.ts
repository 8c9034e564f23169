/**
 * When an app is tried again: nothing else knows. There are two clocks, and both set `retryAt`. Pure.
 *
 * - `failures` counts runs that ended, which the spec's backoff makes wait: not at all after a first run that lasted, then the base, doubled
 *   for each further run, up to the maximum. Ten healthy minutes clear it.
 * - `failedStarts` counts starts that could not happen, which are tried again after a second, doubled up to half a minute, or at once when
 *   their cause is seen to be gone. Such a start says nothing about the app, so it leaves the other clock alone.
 */
import type { Reason } from "../../api/reasons.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { Situation } from "./situation.ts";
import type { AppRecord, RunnableApp } from "../types.ts";

const secondMs = 1000;
/** A run that lasted this long was no mistake in the script: the first restart comes at once. */
const steadyAfterMs = 10 * secondMs;
const healthyAfterMs = 600 * secondMs;
const longestStartRetryMs = 30 * secondMs;
const lookEveryMs = 2 * secondMs;

/** What a record has when nothing keeps its app from being tried now. */
export const noWait = { failures: 0, failedStarts: undefined, retryAt: undefined } satisfies Partial<
  AppRecord
>;

/** The count of runs in a row that ended, with one that lasted this long. One that lasted at the first time is the first of the waits. */
export function countFailures({ failures }: AppRecord, ranMs: number): number {
  const before = ranMs >= healthyAfterMs ? 0 : failures;
  if (before > 0) return before + 1;
  return ranMs >= steadyAfterMs ? 1 : 2;
}

/** The wait after a run has ended: none for the first count, then the base, doubled for every further one, up to the maximum. */
export function backoffMs(app: RunnableApp, failures: number): number {
  if (failures <= 1) return 0;
  const doubled = app.spec.backoffSeconds * 2 ** Math.min(failures - 2, 30) * secondMs;
  // At least a second: a script that ends at once would be started without a pause.
  return Math.max(secondMs, Math.min(longestBackoffMs(app), doubled));
}

export function longestBackoffMs({ spec }: RunnableApp): number {
  return Math.max(1, spec.backoffSeconds, spec.maxBackoffSeconds) * secondMs;
}

/** The fields of a record after a start that could not happen. The next time of the schedule ends the wait. */
export function afterFailedStart(
  { failedStarts = 0, lastHash }: AppRecord,
  hash: string,
  { now, nextRun = () => undefined }: Situation,
): Pick<AppRecord, "failedStarts" | "retryAt"> {
  const count = lastHash === hash ? failedStarts + 1 : 1;
  const waitMs = Math.min(longestStartRetryMs, secondMs * 2 ** Math.min(count - 1, 30));
  return { failedStarts: count, retryAt: Math.min(now + waitMs, nextRun(now) ?? Infinity) };
}

/** A new agent may have other rights, flags and limits: it tries at once what its predecessor could not start. */
export function retryFailedStart(record: AppRecord): AppRecord {
  // A time of the past still says that this is another try.
  return record.failedStarts && record.retryAt !== undefined ? { ...record, retryAt: 0 } : record;
}

/** Until when to wait before the app is tried, or its cause is looked at again; undefined if it can be tried now. */
export function waitUntil(record: AppRecord, { now, causeGone }: Situation): number | undefined {
  const { retryAt } = record;
  if (retryAt === undefined || causeGone || !mustWait(record, now)) return undefined;
  return hasVisibleCause(record) ? Math.min(retryAt, now + lookEveryMs) : retryAt;
}

/** Reports whether it is too early for a retry. A time beyond the longest wait comes from a clock set back, and is ignored. */
export function mustWait({ app, retryAt }: AppRecord, now: number): boolean {
  const longestMs = Math.max(longestBackoffMs(app), longestStartRetryMs);
  return retryAt !== undefined && now < retryAt && retryAt - now <= longestMs;
}

const visibleCauses: readonly (Reason | "")[] = [
  "ScriptNotFound",
  "ScriptUnreadable",
  "InvalidWorkingDir",
  "UnknownUser",
  "UnknownGroup",
  "InterpreterNotFound",
  "InvalidEnvironment",
  "MissingKey",
  "LimitsUnavailable",
];

/** Reports whether the app waits for something on this node that costs little to look at. */
export function hasVisibleCause({ phase, reason, failedStarts, retryAt }: AppRecord): boolean {
  return phase === "Pending" && Boolean(failedStarts) && retryAt !== undefined &&
    visibleCauses.includes(reason);
}

/** What users read about the next try: its time, which screens count down to. Empty if there is none. */
export function retryMessage({ phase, failedStarts, retryAt, reason }: AppRecord): string {
  // Not before it: the time in a message has whole seconds.
  const at = retryAt ? `at ${isoSeconds(Math.ceil(retryAt / secondMs) * secondMs)}` : undefined;
  if (phase === "BackOff") return `restarting ${at ?? "now"}`;
  if (phase !== "Pending" || !at) return "";
  return failedStarts ? `next try ${at}` : reason === "Evicted" ? `restarting ${at}` : "";
}
