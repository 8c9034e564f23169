/** Implements the effects of the runners on the real disk, kernel and launchers. */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { FileTimeoutError, inQueue } from "../../lib/deadlines/deadlines.ts";
import { capsOf, type CapsState, type Confinement } from "../confinement/confinement.ts";
import {
  cancelRun,
  isStartBlocked,
  type LaunchDeps,
  launchRun,
  observeRun,
  readScriptDigest,
  removeEnvironment,
  removeMarks,
  runStopFile,
  startCopier,
  waitForLauncher,
} from "../run/run.ts";
import {
  copiesFolder,
  folderOf,
  logFolder,
  markPath,
  runFolder,
  type RunLayout,
  valuesPath,
  versionsFolder,
} from "../layout.ts";
import { scriptsOf, updateOf } from "../decide/decide.ts";
import { readTail } from "../logs/logs.ts";
import { type RecordStore, saveRunRecord } from "../records/records.ts";
import { keyOf } from "../../api/names.ts";
import { signalProcess } from "../processes.ts";
import type { RunEffects, StartResult } from "./effects.ts";
import { reloadRun } from "./reload.ts";
import { sendStopSignal } from "./stop-signal.ts";
import { refOf, runsOf } from "../run-ref.ts";
import { type AppRecord, type Run, type RunRef, StartError, type StartProblem } from "../types.ts";

/** How long after the end of the last process a launcher may take to write its exit mark. */
const exitMarkMs = 5000;

export interface RunEffectsOptions extends Omit<LaunchDeps, "isRoot" | "saveRecord" | "scripts"> {
  now: () => number;
}

export function createRunEffects(options: RunEffectsOptions, store: RecordStore, bootId: string): RunEffects {
  const { layout, confinement } = options;
  const isRoot = process.getuid?.() === 0;
  return {
    save: (record) => store.save(record),
    leafOf: ({ app }, runId) => confinement.leafOf({ folder: folderOf(app), runId }),
    observe: ({ app }, run, waitedMs) =>
      observeRun(folderOf(app), run, {
        layout,
        confinement,
        bootId,
        waitedMs,
        keepsScripts: updateOf(app) !== undefined,
      }),
    cancel: (run) => cancelRun(markPath(layout, run.id)),
    thaw: (record, run) => confinement.thaw(refOf(record, run)),
    startRun: (record, run, signal) => startRun(record, run, signal, options),
    isBlocked: ({ app }) => isStartBlocked(app, { ...options, isRoot }),
    readScript: (app) => readScriptDigest(app, { ...options, isRoot }),
    runStopFile: (record, run, signal) => runStopFile(record, run, { ...options, signal }),
    reload: (record, run, signal) => reloadRun(record, run, options, signal),
    terminate: (record, run) => sendStopSignal(record, run, confinement),
    async kill(record, run) {
      const ref = refOf(record, run);
      await confinement.kill(ref);
      // With nothing left to wait for, only a log that hangs keeps a launcher from its exit mark.
      const isLate = options.now() > (run.stop?.deadline ?? Infinity) + exitMarkMs;
      if (isLate && ref.launcher && (await confinement.processes(ref)).length === 0) {
        await signalProcess(ref.launcher, "SIGKILL");
      }
    },
    copyLog(record, run) {
      const ref = { ...refOf(record, run), log: logFolder(layout, folderOf(record.app)) };
      const deps = {
        ...options,
        mark: markPath(layout, run.id),
        detach: (pid: number) => confinement.detach(pid),
      };
      return startCopier(ref, deps).catch((error) =>
        options.log.warn("cannot copy the output of a run to its log", { app: keyOf(record.app), error })
      );
    },
    cleanUp: (record, run) => cleanUpRun(refOf(record, run), options),
    ensureCaps: (record) => ensureCaps(record, confinement).catch(notEnforced),
    forget: (record) => forget(record, options, store),
    logTail: (record) => logTail(record, options),
    onEmpty: (record, run, callback) => confinement.onEmpty(refOf(record, run), callback),
  };
}

/**
 * Removes everything that a run has except its log. Its marks go last: while one exists, the next agent finds what is left. The
 * launcher of a killed run has yet to write the exit mark: without the wait, it would create the mark again.
 */
export async function cleanUpRun(
  run: RunRef,
  { layout, confinement }: { layout: RunLayout; confinement: Confinement },
): Promise<void> {
  await confinement.removeRun(run);
  await waitForLauncher(markPath(layout, run.runId));
  await removeEnvironment(layout, run.runId);
  for (const folder of [copiesFolder, runFolder]) {
    await rm(folder(layout, run.runId), { recursive: true, force: true });
  }
  await removeMarks(markPath(layout, run.runId));
}

/** Sets the caps once for all runs that share an app cgroup. They are enforced if they are for every run. */
async function ensureCaps(record: AppRecord, confinement: Confinement): Promise<CapsState> {
  const runs = new Map(runsOf(record).map((run) => [dirname(run.leaf), refOf(record, run)]));
  const states: CapsState[] = [];
  for (const run of runs.values()) {
    states.push(await confinement.ensureCaps(run, capsOf(record.app)));
  }
  return states.find(({ enforced }) => !enforced) ?? { enforced: true };
}

function notEnforced(error: Error): CapsState {
  return { enforced: false, reason: "LimitsUnavailable", message: error.message };
}

/** Starts a run; a problem is one that the user or an operator has to fix. */
async function startRun(
  record: AppRecord,
  run: Run,
  signal: AbortSignal,
  options: RunEffectsOptions,
): Promise<StartResult> {
  const { layout, log } = options;
  try {
    const saveRecord = (folder: string) => saveRunRecord(folder, record);
    const deps = { ...options, isRoot: process.getuid?.() === 0, saveRecord, scripts: scriptsOf(record) };
    return { caps: await launchRun(record.app, run, deps, signal) };
  } catch (error) {
    // A failed start must not run later: unless a launcher claimed it, it is canceled for good.
    await cancelRun(markPath(layout, run.id)).catch((cause) => log.warn("cannot cancel a run", { cause }));
    return signal.aborted ? {} : { problem: problemOf(error as Error) };
  }
}

function problemOf(error: Error): StartProblem {
  if (error instanceof FileTimeoutError) return { reason: "FileTimeout", message: error.message };
  return { reason: error instanceof StartError ? error.reason : "StartFailed", message: error.message };
}

/** The last lines of a log for a status; none if it cannot be read, since the status matters more. */
async function logTail({ app, others }: AppRecord, { layout, log }: RunEffectsOptions): Promise<string> {
  try {
    // Of runs that overlap, the one that ended may have started before the last.
    return await readTail(logFolder(layout, folderOf(app)), { lastRun: !others });
  } catch (error) {
    log.warn("cannot read the last lines of a log", { error });
    return "";
  }
}

async function forget(
  record: AppRecord,
  { layout, confinement, limitFiles }: RunEffectsOptions,
  store: RecordStore,
): Promise<void> {
  const folder = folderOf(record.app);
  await confinement.removeApp(folder);
  await rm(valuesPath(layout, folder), { force: true });
  await rm(versionsFolder(layout, folder), { recursive: true, force: true });
  await inQueue(layout.logDir, () => rm(logFolder(layout, folder), { recursive: true, force: true }));
  limitFiles.forget(folder);
  await store.remove(record);
}
