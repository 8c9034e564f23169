/** Makes a running app reload its configuration, as its spec says: by `reloadSignal` or `reloadCommand`. */
import { defaultNamespace, keyOf } from "../../api/names.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { statusPid } from "../decide/decide.ts";
import type { Launcher } from "../launcher/launcher.ts";
import { folderOf, type Layout, logFolder, markPath, runFolder } from "../layout.ts";
import { signalProcess } from "../processes.ts";
import { describeFailure, execInRun, findOutput } from "../run/run.ts";
import type { AppEvent, AppRecord, Run } from "../types.ts";
import { findMain } from "./main-process.ts";

/** How long a command may take. */
export const reloadMs = 60_000;

export interface ReloadDeps {
  layout: Layout;
  launcher: Launcher;
  confinement: Pick<Confinement, "processes">;
}

/** Why an app cannot be reloaded; undefined if it can. The message says what to do. */
export function refuseReload({ app, phase, hold, withdrawn, run }: AppRecord): string | undefined {
  const { namespace, name, deletionTimestamp } = app.metadata;
  const key = keyOf(app);
  if (hold !== undefined) return `${key} is on hold: ${hold}`;
  if (withdrawn || deletionTimestamp) return `${key} is being deleted`;
  if (!app.spec.reloadSignal && !app.spec.reloadCommand) {
    const word = namespace === defaultNamespace ? name : key;
    return `${key} has neither spec.reloadSignal nor spec.reloadCommand: set one, or use 'nckubelet restart ${word}'`;
  }
  return run && phase === "Running"
    ? undefined
    : `${key} is ${phase}, not running: there is nothing to reload`;
}

/** Reloads the app and returns what happened, as an event. When the signal aborts, a command is left running. */
export async function reloadRun(
  record: AppRecord,
  run: Run,
  deps: ReloadDeps,
  signal: AbortSignal,
): Promise<AppEvent> {
  const { reloadSignal, reloadCommand } = record.app.spec;
  if (reloadCommand) return await byCommand(reloadCommand, record, run, deps, signal);
  const main = await findMain(record, run, deps.confinement);
  if (!main || !reloadSignal) {
    return failed(`spec.reloadSignal: ${reloadSignal}: the main process of the app has ended`);
  }
  await signalProcess(main, reloadSignal as NodeJS.Signals);
  return reloaded(`Sent ${reloadSignal} to process ${main.pid}`);
}

/** Like a stop file, the command is part of the app and writes to its log. */
async function byCommand(
  command: string[],
  record: AppRecord,
  run: Run,
  { layout, launcher }: ReloadDeps,
  signal: AbortSignal,
): Promise<AppEvent> {
  const label = `spec.reloadCommand: ${JSON.stringify(command[0])}`;
  try {
    const result = await execInRun(runFolder(layout, run.id), command, {
      timeoutMs: reloadMs,
      launcher,
      pid: statusPid(run),
      log: logFolder(layout, folderOf(record.app)),
      output: findOutput(markPath(layout, run.id)),
      signal,
    });
    const problem = describeFailure(label, result, reloadMs);
    return problem === undefined ? reloaded(`Ran ${command.join(" ")}`) : failed(problem);
  } catch (error) {
    if (signal.aborted) return failed(`${label} goes on, and how it ends is unknown: the agent ends`);
    return failed(`${label}: ${(error as Error).message}`);
  }
}

function reloaded(message: string): AppEvent {
  return { type: "Normal", reason: "Reloaded", message };
}

function failed(message: string): AppEvent {
  return { type: "Warning", reason: "ReloadFailed", message };
}
