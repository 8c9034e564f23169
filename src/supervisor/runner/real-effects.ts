/**
 * The effects of the runners on the real disk, kernel and launchers.
 */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import type { Logger } from "../../lib/log.ts";
import { capsOf, type CapsState, type Confinement } from "../confinement/confinement.ts";
import { type RunRef } from "../types.ts";
import {
  cancelRun,
  type LaunchDeps,
  launchRun,
  observeRun,
  removeEnvironment,
  removeMarks,
  runStopFile,
  waitForLauncher,
} from "../run/run.ts";
import {
  copiesFolder,
  folderOf,
  logFolder,
  logPath,
  markPath,
  runFolder,
  type RunLayout,
} from "../layout.ts";
import { forgetLog, readTail } from "../logs/logs.ts";
import { type RecordStore, saveRunRecord } from "../records/records.ts";
import type { RunEffects } from "./effects.ts";
import { refOf, runsOf } from "../run-ref.ts";
import { StartError } from "../start-error.ts";
import type { AppRecord, Run, StartProblem } from "../types.ts";

export interface RunEffectsOptions extends Omit<LaunchDeps, "isRoot"> {
  log: Logger;
  now: () => number;
}

/** The effects for all apps of a node. */
export function createRunEffects(options: RunEffectsOptions, store: RecordStore, bootId: string): RunEffects {
  const { layout, confinement } = options;
  return {
    save: (record) => store.save(record),
    leafOf: ({ app }, runId) => confinement.leafOf({ folder: folderOf(app), runId }),
    observe: ({ app }, run, waitedMs) =>
      observeRun(folderOf(app), run, { layout, confinement, bootId, waitedMs }),
    cancel: (run) => cancelRun(markPath(layout, run.id)),
    thaw: (record, run) => confinement.thaw(refOf(record, run)),
    launch: (record, run, signal) => launch(record, run, signal, options),
    runStopFile: (record, run, signal) => runStopFile(record, run, { ...options, signal }),
    terminate: (record, run) => confinement.terminate(refOf(record, run)),
    kill: (record, run) => confinement.kill(refOf(record, run)),
    cleanUp: (record, run) => cleanUpRun(refOf(record, run), layout, confinement),
    ensureCaps: (record) => ensureCaps(record, confinement).catch(notEnforced),
    forget: (record) => forget(record, options, store),
    logTail: (record) => readTail(logFolder(layout, folderOf(record.app))),
    onEmpty: (record, run, callback) => confinement.onEmpty(refOf(record, run), callback),
  };
}

/**
 * Removes all that a run has beside its log. Its marks go last: while there are any, the next agent finds what is left. The launcher
 * of a run that was killed has yet to write down how that ended, and would make the mark anew.
 */
export async function cleanUpRun(run: RunRef, layout: RunLayout, confinement: Confinement): Promise<void> {
  await confinement.removeRun(run);
  await waitForLauncher(markPath(layout, run.runId));
  await removeEnvironment(layout, run.runId);
  for (const folder of [copiesFolder, runFolder]) {
    await rm(folder(layout, run.runId), { recursive: true, force: true });
  }
  await removeMarks(markPath(layout, run.runId));
}

/** Caps are of an app's cgroup: they are set once for all runs that share one, and hold if they do for every run. */
async function ensureCaps(record: AppRecord, confinement: Confinement): Promise<CapsState> {
  const places = new Map(runsOf(record).map((run) => [dirname(run.leaf ?? ""), refOf(record, run)]));
  const states: CapsState[] = [];
  for (const run of places.values()) states.push(await confinement.ensureCaps(run, capsOf(record.app)));
  return states.find(({ enforced }) => !enforced) ?? { enforced: true };
}

function notEnforced(error: Error): CapsState {
  return { enforced: false, reason: "LimitsUnavailable", message: error.message };
}

async function launch(
  record: AppRecord,
  run: Run,
  signal: AbortSignal,
  options: RunEffectsOptions,
): Promise<StartProblem | undefined> {
  const { layout, log } = options;
  try {
    await saveRunRecord(runFolder(layout, run.id), record);
    await launchRun(record.app, run, { ...options, isRoot: process.getuid?.() === 0 }, signal);
    return undefined;
  } catch (error) {
    // Nothing may come to life any more from a start that is given up. The spawn is its last step: where even this
    // fails there is no launcher either.
    await cancelRun(markPath(layout, run.id)).catch((cause) => log.warn("cannot call a run off", { cause }));
    if (signal.aborted) return undefined;
    if (error instanceof StartError) return { reason: error.reason, message: error.message };
    return { reason: "StartFailed", message: (error as Error).message };
  }
}

async function forget(
  record: AppRecord,
  { layout, confinement }: RunEffectsOptions,
  store: RecordStore,
): Promise<void> {
  const folder = folderOf(record.app);
  await confinement.removeApp(folder);
  await rm(logFolder(layout, folder), { recursive: true, force: true });
  forgetLog(logPath(layout, folder));
  await store.remove(record);
}
