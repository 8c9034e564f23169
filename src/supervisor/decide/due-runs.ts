/**
 * Apps with a schedule: when a run is due, and what happens if one is due while another lives. Pure.
 *
 * Guarantees:
 * - A time of the schedule is used up when its script starts, not before: a start that fails, or that dies with the agent,
 *   is retried under every restart policy: the policy applies only to scripts that have ended.
 * - However many times pass meanwhile, one run makes up for them.
 * - A run that was stopped because the app was updated, restarted or evicted is started again.
 * - Suspending an app or changing its schedule cancels runs that are due.
 */
import { isoSeconds } from "../../lib/time.ts";
import { noWait, waitUntil } from "./retry.ts";
import { runHash } from "./run-hash.ts";
import type { Decision, Situation } from "./situation.ts";
import { beginStop, decision, rest, secondMs, start, unchanged } from "./transitions.ts";
import type { AppEvent, AppRecord, Run, RunnableApp } from "../types.ts";

const lateMs = 60 * secondMs;

/** Waits for the next time of the schedule, or for the retry of a start that failed. */
export function decideScheduled(record: AppRecord, situation: Situation): Decision {
  const { now } = situation;
  const refreshed = refreshSchedule(record, situation);
  const due = refreshed.scheduled?.nextRun;
  if (due !== undefined && now >= due) {
    const isSame = record.lastHash === runHash(record.app);
    const wakeAt = isSame ? waitUntil(record, situation) : undefined;
    if (wakeAt !== undefined) return { ...unchanged(record), wakeAt };
    // For a retry, an earlier event has reported what went wrong.
    const isFirstTry = record.retryAt === undefined && due !== record.scheduled?.lastRun;
    return startDueRun(record, situation, isFirstTry && now - due >= lateMs ? [missedRun(due)] : []);
  }
  const message = due === undefined ? "spec.schedule has no next time" : `next run at ${isoSeconds(due)}`;
  return { ...rest(refreshed, "Pending", "Scheduled", message), wakeAt: due };
}

/** The record of a run whose script has started: the time that it was due at is used up. */
export function withDueTimeUsed(
  record: AppRecord,
  run: Run,
  { nextRun = () => undefined }: Situation,
): AppRecord {
  const due = record.scheduled?.nextRun;
  if (!record.app.spec.schedule || due === undefined || due > run.createdAt) return record;
  // Counted from the decision: a time that came due during the start is still to be decided.
  const scheduled = { schedule: scheduleOf(record.app), lastRun: due, nextRun: nextRun(run.createdAt) };
  return { ...record, scheduled };
}

/** The record of a run whose script has not started: if it repeats a failed run, its time is due again. */
export function withDueTimeKept(record: AppRecord, run: Run): AppRecord {
  const { scheduled } = record;
  const isRepeat = scheduled?.lastRun !== undefined && (scheduled.nextRun ?? Infinity) > run.createdAt;
  return isRepeat ? { ...record, scheduled: { ...scheduled, nextRun: scheduled.lastRun } } : record;
}

/** The record of a run that was stopped before its end for an update, a restart or an eviction: its time is due again. */
export function withInterruptedRunDue(record: AppRecord, { stop, restart }: Run): AppRecord {
  const { scheduled } = record;
  const wasInterrupted = restart ||
    stop && ["Updated", "Restarted", "RolledBack", "Evicted"].includes(stop.reason);
  if (!wasInterrupted || scheduled?.lastRun === undefined) return record;
  return { ...record, scheduled: { ...scheduled, nextRun: scheduled.lastRun } };
}

/** Reports whether a run is due by the schedule that the spec has now. */
export function isRunDue({ app, scheduled }: AppRecord, { now }: Situation): boolean {
  const due = scheduled?.nextRun;
  return app.spec.schedule !== undefined && due !== undefined && now >= due &&
    scheduled?.schedule === scheduleOf(app);
}

/** Applies the concurrency policy to a run that is due while another lives. */
export function decideConcurrentRun(record: AppRecord, run: Run, situation: Situation): Decision {
  const { now, nextRun = () => undefined } = situation;
  const { concurrencyPolicy } = record.app.spec;
  if (concurrencyPolicy === "Replace") {
    return beginStop(record, run, { reason: "Replaced", message: "" }, situation);
  }
  if (concurrencyPolicy === "Allow") {
    return startDueRun({ ...record, others: [...record.others ?? [], run] }, situation);
  }
  const due = record.scheduled?.nextRun ?? now;
  const scheduled = {
    schedule: scheduleOf(record.app),
    lastRun: record.scheduled?.lastRun,
    nextRun: nextRun(now),
  };
  const message = `Skipped the run due at ${isoSeconds(due)}: the previous run is still running`;
  return decision({ ...record, scheduled }, [], [{ type: "Normal", reason: "SkippedRun", message }]);
}

/** The record with the times of the schedule that the spec has now; the same record if nothing changed. */
export function refreshSchedule(record: AppRecord, { now, nextRun = () => undefined }: Situation): AppRecord {
  if (!record.app.spec.schedule) return withoutSchedule(record);
  const schedule = scheduleOf(record.app);
  const next = nextRun(now);
  const { scheduled } = record;
  if (scheduled?.schedule === schedule) {
    // A later time than the next one comes from a clock that was ahead, unless the next one is used up and the clock is behind.
    const isUsedUp = next !== undefined && next === scheduled.lastRun;
    if (isUsedUp || (scheduled.nextRun ?? Infinity) <= (next ?? Infinity)) return record;
  }
  return {
    ...record,
    scheduled: { schedule, lastRun: scheduled?.lastRun, nextRun: next },
    // A pending retry belongs to a time of the old schedule.
    retryAt: undefined,
  };
}

export function withoutSchedule(record: AppRecord): AppRecord {
  return record.scheduled ? { ...record, scheduled: undefined } : record;
}

/** Starts a due run. Each time of the schedule begins with no failures. */
function startDueRun(record: AppRecord, situation: Situation, events: AppEvent[] = []): Decision {
  return start(record.retryAt === undefined ? { ...record, ...noWait } : record, situation, events);
}

function missedRun(due: number): AppEvent {
  const message = `The run due at ${isoSeconds(due)} is late; starting it now`;
  return { type: "Warning", reason: "MissedRun", message };
}

export function scheduleOf({ spec }: RunnableApp): string {
  return `${spec.schedule} ${spec.timeZone ?? ""}`;
}
