/** Observes a run: what its launcher wrote, and which of its processes live. */
import type { Confinement } from "../confinement/confinement.ts";
import { type Layout, markPath, runFolder } from "../layout.ts";
import { hasExited, type LauncherMarks, readMarks } from "./launcher-marks.ts";
import { isAlive } from "../processes.ts";
import type { Run, RunRef, RunView } from "../types.ts";
import { withoutExecProcesses } from "./exec-processes.ts";
import { readRunContext } from "./run-context.ts";

export interface ObserveDeps {
  layout: Layout;
  confinement: Confinement;
  bootId: string;
  /** The wait for its launcher; see Situation. Infinite for a run that has started. */
  waitedMs?: number;
  /** Whether the app keeps scripts. */
  keepsScripts?: boolean;
}

/** Observes the run now. In another boot than its own, nothing of it can be alive. */
export async function observeRun(folder: string, run: Run, deps: ObserveDeps): Promise<RunView> {
  const { confinement, bootId, waitedMs = Infinity } = deps;
  const mark = markPath(deps.layout, run.id);
  const before = readMarks(mark);
  const main = before.started?.main ?? run.main;
  const launcher = before.launcher ?? run.launcher;
  const alone = before.exit?.alone;
  const ref: RunRef = { folder, runId: run.id, main, launcher, leaf: run.leaf, alone };
  const rebooted = run.bootId !== bootId;
  const mayLive = !rebooted && before.claim === "launcher";
  const list = () => confinement.processes(ref);
  // A launcher starts the script within moments: until then there is nothing to list.
  const isStarting = !before.started && run.startedAt === undefined && waitedMs < signingMs;
  const listed = mayLive && !isStarting ? await list() : [];
  const launcherAlive = mayLive && launcherLives(before, waitedMs);
  // The launcher's last act is to write the exit status: once it is gone, the marks are final and are read again. If the run was
  // not claimed at the first reading, no launcher was checked, so that reading stands.
  const { claim, started, failure, exit, copier } = mayLive && !launcherAlive ? readMarks(mark) : before;
  const hasEnded = exit !== undefined || (!launcherAlive && !(main && listed.includes(main.pid)));
  // Exec processes matter only once the script has ended.
  const processes = hasEnded
    ? await withoutExecProcesses(listed, {
      runId: run.id,
      leaf: run.leaf,
      main: main?.pid,
      survivor: run.survivor,
      list,
    })
    : listed;
  const isEnding = exit && !alone && processes.length === 0 && launcher && launcherAlive;
  // It has yet to write how the last process ended, and to copy what that wrote; then it exits, unless the log hangs.
  if (isEnding) {
    await hasExited(launcher, lastExitMs, () => readMarks(mark).exit?.last === "unknown");
    await hasExited(launcher, lastLinesMs);
  }
  const isNew = deps.keepsScripts && run.script === undefined && started !== undefined;
  const context = isNew
    ? await readRunContext(runFolder(deps.layout, run.id)).catch(() => undefined)
    : undefined;
  return {
    claim,
    launcher: before.launcher,
    launcherAlive,
    copier: copier && !rebooted && isAlive(copier) ? copier : undefined,
    rebooted,
    started,
    failure,
    exit: isEnding ? readMarks(mark).exit : exit,
    processes,
    ...(typeof context?.script === "string" ? { script: context.script } : {}),
    kills: mayLive ? confinement.kills(ref) : undefined,
  };
}

/** A launcher writes its process into an empty claim, and starts the script, within this time, or never will. */
const signingMs = 10_000;
/** How long the end of a run is held up by a launcher that does not say how its last process ended. */
const lastExitMs = 5000;
/** The same for one that does not exit. */
const lastLinesMs = 1000;

function launcherLives({ launcher }: LauncherMarks, waitedMs: number): boolean {
  return launcher ? isAlive(launcher) : waitedMs < signingMs;
}
