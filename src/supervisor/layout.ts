/**
 * The paths of the supervisor's files. Callers have checked the names (`isSafeName`); this only joins them.
 *
 *   <state>/apps/<namespace>_<name>/record.json   the record of an app
 *   <state>/runs/<run>/                           the context of a run and its first record, private
 *   <state>/marks/<run>.{claim,started,failure,exit}   what the launcher writes; one folder, so that one watch serves all apps
 *   <state>/copies/<run>/{script,stop-file}       normalized copies of the run's scripts, for the user that it runs as
 *   <state>/scripts/                              downloaded scripts
 *   <state>/versions/<namespace>_<name>/<digest>  scripts of earlier versions of an app, see run/kept-scripts.ts
 *   <state>/history/<namespace>_<name>.jsonl      what happened to an app; outlives it, see agent/app-history/
 *   <state>/agent.lock                            a link that names the process of the agent
 *   <logs>/<namespace>_<name>/                    the log of an app, see logs/log-parts.ts
 *   <private>/<run>                               environment of a run with the values of Secrets, in memory
 *   <private>/.values-<namespace>_<name>          values of Secrets and ConfigMaps that the app was last started with
 */
import { join } from "node:path";
import { appFileName } from "../api/app-file-name.ts";
import type { RunnableApp } from "./types.ts";

export interface Layout {
  stateDir: string;
  logDir: string;
}

/** The layout for code that starts and ends runs. */
export interface RunLayout extends Layout {
  /** For what must not reach a disk; only this agent may read it. */
  privateDir: string;
}

/** The folder name of an app, in the state, log and cgroup trees alike. */
export function folderOf({ metadata }: Pick<RunnableApp, "metadata">): string {
  return appFileName(metadata.namespace ?? "default", metadata.name);
}

export const appsFolder = (layout: Layout) => join(layout.stateDir, "apps");
export const appFolder = (layout: Layout, folder: string) => join(appsFolder(layout), folder);
export const recordPath = (layout: Layout, folder: string) => join(appFolder(layout, folder), "record.json");
export const runsFolder = (layout: Layout) => join(layout.stateDir, "runs");
export const runFolder = (layout: Layout, runId: string) => join(runsFolder(layout), runId);
export const marksFolder = (layout: Layout) => join(layout.stateDir, "marks");
export const markPath = (layout: Layout, runId: string) => join(marksFolder(layout), runId);
export const copiesFolder = (layout: Layout, runId: string) => join(layout.stateDir, "copies", runId);
export const scriptCopyPath = (layout: Layout, runId: string) => join(copiesFolder(layout, runId), "script");
export const stopCopyPath = (layout: Layout, runId: string) => join(copiesFolder(layout, runId), "stop-file");
export const versionsFolder = (layout: Layout, folder: string) => join(layout.stateDir, "versions", folder);
export const environmentPath = (layout: RunLayout, runId: string) => join(layout.privateDir, runId);
export const valuesPath = (layout: RunLayout, folder: string) => join(layout.privateDir, `.values-${folder}`);
export const historyFolder = (layout: Pick<Layout, "stateDir">) => join(layout.stateDir, "history");
export const lockPath = (layout: Pick<Layout, "stateDir">) => join(layout.stateDir, "agent.lock");
export const logFolder = (layout: Layout, folder: string) => join(layout.logDir, folder);
export const logPath = (layout: Layout, folder: string) => join(logFolder(layout, folder), "app.log");
