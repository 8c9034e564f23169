/** Apps with a schedule that is due at every full minute after `start`, and what is known about them. */
import type { NCAppSpec } from "../../../src/api/types.ts";
import type { decide, Situation } from "../../../src/supervisor/decide/decide.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
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

export const kinds = (decision: ReturnType<typeof decide>) => decision.effects.map(({ kind }) => kind);
export const over = viewWith({ processes: [], launcherAlive: false, exit: { code: 0, at: start } });
export const failed = viewWith({ processes: [], launcherAlive: false, exit: { code: 1, at: start } });
