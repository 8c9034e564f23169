import { randomBytes } from "node:crypto";
import type { RunRef } from "./types.ts";
import { folderOf } from "./layout.ts";
import type { AppRecord, Run } from "./types.ts";

/** All runs of an app: its current run first, then the concurrent ones. */
export function runsOf({ run, others = [] }: AppRecord): Run[] {
  return run ? [run, ...others] : others;
}

export function refOf(record: AppRecord, run: Run): RunRef {
  return { folder: folderOf(record.app), runId: run.id, main: run.main, leaf: run.leaf };
}

/** Returns an id that no other run has on any machine. */
export function newRunId(now: number): string {
  return `${Math.floor(now).toString(36)}-${randomBytes(5).toString("hex")}`;
}

/** Reports whether `newRunId` can have made this name. */
export function isRunId(name: string): boolean {
  return /^[0-9a-z]+-[0-9a-f]{10}$/.test(name);
}
