/** How apps and their runs are named to one another. */
import { appKey } from "../api/names.ts";
import type { RunRef } from "./confinement.ts";
import { folderOf } from "./record-store.ts";
import type { AppRecord, Run, RunnableApp } from "./types.ts";

/** How an app is named everywhere: `namespace/name`. */
export function keyOf(app: RunnableApp): string {
  return appKey(app.metadata.namespace ?? "default", app.metadata.name);
}

/** All runs of an app: the one it is judged by, and those that live beside it. */
export function runsOf({ run, others = [] }: AppRecord): Run[] {
  return run ? [run, ...others] : others;
}

/** A run as the confinement knows it. */
export function refOf(record: AppRecord, run: Run): RunRef {
  return { folder: folderOf(record.app), runId: run.id, main: run.main, leaf: run.leaf };
}
