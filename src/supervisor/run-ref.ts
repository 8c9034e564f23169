/** How apps and their runs are named to one another. */
import { randomBytes } from "node:crypto";
import type { RunRef } from "./types.ts";
import { folderOf } from "./layout.ts";
import type { AppRecord, Run } from "./types.ts";

/** All runs of an app: the one it is judged by, and those that live beside it. */
export function runsOf({ run, others = [] }: AppRecord): Run[] {
  return run ? [run, ...others] : others;
}

/** A run as the confinement knows it. */
export function refOf(record: AppRecord, run: Run): RunRef {
  return { folder: folderOf(record.app), runId: run.id, main: run.main, leaf: run.leaf };
}

/** A name that no other run has, here or on any machine. */
export function newRunId(now: number): string {
  return `${Math.floor(now).toString(36)}-${randomBytes(5).toString("hex")}`;
}

/** Whether a name is one that `newRunId` makes. */
export function isRunId(name: string): boolean {
  return /^[0-9a-z]+-[0-9a-f]{10}$/.test(name);
}
