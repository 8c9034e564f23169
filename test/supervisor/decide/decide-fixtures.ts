/** What is known about an app, and apps with a schedule that is due at every full minute after `start`. */
import type { NCAppSpec } from "../../../src/api/types.ts";
import { decide, type Situation } from "../../../src/supervisor/decide/decide.ts";
import type { AppRecord, ScriptExit } from "../../../src/supervisor/types.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";

export const minute = 60_000;

export function situation(fields: Partial<Situation> = {}): Situation {
  let runs = 1;
  const nextRun = (after: number) => start + (Math.floor((after - start) / minute) + 1) * minute;
  return {
    now: start,
    bootId: "boot-1",
    newRunId: () => `run-${++runs}`,
    leafOf: () => "",
    nextRun,
    ...fields,
  };
}

export function everyMinute(spec: NCAppSpec = {}) {
  return appWith({ schedule: "* * * * *", ...spec });
}

/** An app with a run that began at the first due time and still lives. */
export function busy(spec: NCAppSpec): AppRecord {
  const app = everyMinute(spec);
  const scheduled = { schedule: "* * * * * ", lastRun: start + minute, nextRun: start + 2 * minute };
  return recordWith({ app, phase: "Running", reason: "Running", run: runOf(app), scheduled });
}

/** One decision about an app in a situation with these fields. */
export const look = (record: AppRecord, fields?: Partial<Situation>) => decide(record, situation(fields));
/** The record after one decision. */
export const step = (record: AppRecord, fields?: Partial<Situation>) => look(record, fields).record;
export const kinds = (decision: ReturnType<typeof decide>) => decision.effects.map(({ kind }) => kind);
export const exited = (code: number, signal?: number) =>
  viewWith({ exit: { code, at: start, signal }, processes: [], launcherAlive: false });
/** The script ended well, and this is known of what it left behind. */
export const daemonEnded = (last: ScriptExit["last"]) =>
  viewWith({ exit: { code: 0, at: start, signal: 0, last }, processes: [], launcherAlive: false });
export const over = exited(0);
export const failed = exited(1);
