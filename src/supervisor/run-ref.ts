import { randomBytes } from "node:crypto";
import { folderOf } from "./layout.ts";
import type { AppRecord, Run, RunRef } from "./types.ts";

/** All runs of an app: its current run first, then the concurrent ones. */
export function runsOf({ run, others = [] }: AppRecord): Run[] {
  return run ? [run, ...others] : others;
}

export function refOf({ app }: Pick<AppRecord, "app">, { id, main, launcher, leaf }: Run): RunRef {
  return { folder: folderOf(app), runId: id, main, launcher, leaf };
}

/** Returns an id that no other run has on any machine. */
export function newRunId(now: number): string {
  return `${Math.floor(now).toString(36)}-${randomBytes(5).toString("hex")}`;
}

/** Returns when the run with this id was created. */
export function runTime(id: string): number {
  return Number.parseInt(id, 36);
}

/** Reports whether `newRunId` can have made this name. */
export function isRunId(name: string): boolean {
  return /^[0-9a-z]+-[0-9a-f]{10}$/.test(name);
}

/** Reports whether a start may be made again if a power cut loses it: not a scheduled run, nor that of an app that never restarts. */
export function mayStartAgain({ scheduled, app }: AppRecord): boolean {
  return scheduled === undefined && app.spec.restartPolicy !== "Never";
}
