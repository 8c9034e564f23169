/**
 * Apps with a schedule: when a run is due, and what becomes of one that is due while another lives. Pure.
 *
 * Guarantees:
 * - A time of the schedule is used up when its script begins, not before: a start that fails, or that dies with the agent,
 *   is made again, whatever the restart policy says about scripts that have ended.
 * - Times that pass meanwhile, however many, are made up for by one run.
 * - A run that was stopped since the app was changed, restarted or evicted is begun anew.
 * - A suspended app, and one that gets another schedule, owes no run any more.
 */
import { isoSeconds } from "../../lib/time.ts";
import { runHash } from "./run-hash.ts";
import type { Decision, Situation } from "./situation.ts";
import { act, beginStop, mustWait, secondMs, start, stay, unchanged } from "./transitions.ts";
import type { AppEvent, AppRecord, Run, RunnableApp } from "../types.ts";

const lateMs = 60 * secondMs;

/** Waits for the next time of the schedule, and where a start has failed for the next try. */
export function decideScheduled(record: AppRecord, situation: Situation): Decision {
  const { now } = situation;
  const refreshed = refreshSchedule(record, situation);
  const due = refreshed.scheduled?.nextRun;
  if (due !== undefined && now >= due) {
    const isSame = record.lastHash === runHash(record.app);
    if (isSame && mustWait(record, now)) return { ...unchanged(record), wakeAt: record.retryAt };
    // Of one that is tried again it was said before what went wrong.
    const isNew = record.retryAt === undefined && due !== record.scheduled?.lastRun;
    return startDue(record, situation, isNew && now - due >= lateMs ? [missed(due)] : []);
  }
  const message = due === undefined ? "its schedule has no next time" : `next run at ${isoSeconds(due)}`;
  return { ...stay(refreshed, "Scheduled", message), wakeAt: due };
}

/** The record of a run whose script has begun: the time that it was due at is used up. */
export function withBegun(record: AppRecord, run: Run, { nextRun = () => undefined }: Situation): AppRecord {
  const due = record.scheduled?.nextRun;
  if (!record.app.spec.schedule || due === undefined || due > run.createdAt) return record;
  // What came due while it was starting is still to be decided.
  const scheduled = { schedule: scheduleOf(record.app), lastRun: due, nextRun: nextRun(run.createdAt) };
  return { ...record, scheduled };
}

/** The record of a run whose script has not begun: a run that repeats a failed one makes its time due again. */
export function withNotBegun(record: AppRecord, run: Run): AppRecord {
  const { scheduled } = record;
  const isRepeat = scheduled?.lastRun !== undefined && (scheduled.nextRun ?? Infinity) > run.createdAt;
  return isRepeat ? { ...record, scheduled: { ...scheduled, nextRun: scheduled.lastRun } } : record;
}

/** The record of a run that was stopped to make room or place for another: it did not come to its end, and is owed. */
export function withOwed(record: AppRecord, { stop }: Run): AppRecord {
  const { scheduled } = record;
  const isOwed = stop && ["Updated", "Restarted", "Evicted"].includes(stop.reason);
  if (!isOwed || scheduled?.lastRun === undefined) return record;
  return { ...record, scheduled: { ...scheduled, nextRun: scheduled.lastRun } };
}

/** The schedule is due while a run still lives. */
export function isDue({ app, scheduled }: AppRecord, { now }: Situation): boolean {
  const due = scheduled?.nextRun;
  return app.spec.schedule !== undefined && due !== undefined && now >= due &&
    scheduled?.schedule === scheduleOf(app);
}

/** What the concurrency policy says to a run that is due while another lives. */
export function dueAgain(record: AppRecord, run: Run, situation: Situation): Decision {
  const { now, nextRun = () => undefined } = situation;
  const { concurrencyPolicy } = record.app.spec;
  if (concurrencyPolicy === "Replace") {
    return beginStop(record, run, { reason: "Replaced", message: "" }, situation);
  }
  if (concurrencyPolicy === "Allow") {
    return startDue({ ...record, others: [...record.others ?? [], run] }, situation);
  }
  const due = record.scheduled?.nextRun ?? now;
  const scheduled = {
    schedule: scheduleOf(record.app),
    lastRun: record.scheduled?.lastRun,
    nextRun: nextRun(now),
  };
  const message = `The run that was due at ${isoSeconds(due)} is left out: the one before still lives`;
  return act({ ...record, scheduled }, [], [{ type: "Normal", reason: "SkippedRun", message }]);
}

/** The record with the times of the schedule that the spec has now; the same record where nothing changed. */
export function refreshSchedule(record: AppRecord, { now, nextRun = () => undefined }: Situation): AppRecord {
  if (!record.app.spec.schedule) return withoutSchedule(record);
  const schedule = scheduleOf(record.app);
  const next = nextRun(now);
  const { scheduled } = record;
  if (scheduled?.schedule === schedule) {
    // A time further off than the next one is of a clock that was ahead; unless that next one is used up, and the clock behind.
    const isUsedUp = next !== undefined && next === scheduled.lastRun;
    if (isUsedUp || (scheduled.nextRun ?? Infinity) <= (next ?? Infinity)) return record;
  }
  return {
    ...record,
    scheduled: { schedule, lastRun: scheduled?.lastRun, nextRun: next },
    // A start that was to be tried again was for a time of before.
    retryAt: undefined,
  };
}

/** The record without times of a schedule. */
export function withoutSchedule(record: AppRecord): AppRecord {
  return record.scheduled ? { ...record, scheduled: undefined } : record;
}

/** Vain starts are counted for one time of the schedule: the next one waits for its own failures only. */
function startDue(record: AppRecord, situation: Situation, events: AppEvent[] = []): Decision {
  const failures = record.retryAt === undefined ? 0 : record.failures;
  return start({ ...record, failures }, situation, events);
}

function missed(due: number): AppEvent {
  const message = `A run was due at ${isoSeconds(due)}; it starts now`;
  return { type: "Warning", reason: "MissedRun", message };
}

function scheduleOf({ spec }: RunnableApp): string {
  return `${spec.schedule} ${spec.timeZone ?? ""}`;
}
