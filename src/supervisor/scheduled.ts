/**
 * Apps with a schedule: when a run is due, and what becomes of one that is due while another lives. Pure.
 */
import { isoSeconds } from "../lib/time.ts";
import type { Decision, Situation } from "./situation.ts";
import { act, beginStop, secondMs, start, stay } from "./transitions.ts";
import type { AppEvent, AppRecord, Run, RunnableApp } from "./types.ts";

const lateMs = 60 * secondMs;

/** Waits for the next time of the schedule. Times that were missed, however many, are made up for by one run. */
export function decideScheduled(record: AppRecord, situation: Situation): Decision {
  const { now, nextRun = () => undefined } = situation;
  const refreshed = refreshSchedule(record, situation);
  const schedule = scheduleOf(record.app);
  const due = refreshed.scheduled?.nextRun;
  if (due !== undefined && now >= due) {
    const late: AppEvent[] = now - due < lateMs ? [] : [{
      type: "Warning",
      reason: "MissedRun",
      message: `A run was due at ${isoSeconds(due)}; it starts now`,
    }];
    return start(
      { ...record, scheduled: { schedule, lastRun: due, nextRun: nextRun(now) } },
      situation,
      late,
    );
  }
  const message = due === undefined ? "its schedule has no next time" : `next run at ${isoSeconds(due)}`;
  return { ...stay(refreshed, "Scheduled", message), wakeAt: due };
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
  const due = record.scheduled?.nextRun ?? now;
  const scheduled = {
    schedule: scheduleOf(record.app),
    lastRun: record.scheduled?.lastRun,
    nextRun: nextRun(now),
  };
  if (concurrencyPolicy === "Allow") {
    const others = [...record.others ?? [], run];
    return start({ ...record, others, scheduled: { ...scheduled, lastRun: due } }, situation);
  }
  const message = `The run that was due at ${isoSeconds(due)} is left out: the one before still lives`;
  return act({ ...record, scheduled }, [], [{ type: "Normal", reason: "SkippedRun", message }]);
}

/** The record with the times of the schedule that the spec has now; the same record where nothing changed. */
export function refreshSchedule(record: AppRecord, { now, nextRun = () => undefined }: Situation): AppRecord {
  if (!record.app.spec.schedule) return withoutSchedule(record);
  const schedule = scheduleOf(record.app);
  const next = nextRun(now);
  const { scheduled } = record;
  // A time further off than the next one is of a clock that was ahead.
  const holds = scheduled?.schedule === schedule && (scheduled.nextRun ?? Infinity) <= (next ?? Infinity);
  return holds ? record : { ...record, scheduled: { schedule, lastRun: scheduled?.lastRun, nextRun: next } };
}

/** The record without times of a schedule. */
export function withoutSchedule(record: AppRecord): AppRecord {
  return record.scheduled ? { ...record, scheduled: undefined } : record;
}

function scheduleOf({ spec }: RunnableApp): string {
  return `${spec.schedule} ${spec.timeZone ?? ""}`;
}
