/**
 * Looks at a run: what its launcher said, and which of its processes live.
 */
import type { ConfinementOf } from "../confinement/confinement.ts";
import type { RunRef } from "../types.ts";
import { type Layout, markPath } from "../layout.ts";
import { type Marks, readMarks } from "./launcher-marks.ts";
import { isAlive } from "../processes.ts";
import type { Run, RunView } from "../types.ts";
import { withoutVisitors } from "./exec-processes.ts";

export interface ObserveDeps {
  layout: Layout;
  confinementOf: ConfinementOf;
  bootId: string;
  /** For how long its launcher has been waited for; see Situation. Of a run that has begun, nobody waits for it any more. */
  waitedMs?: number;
}

/** The run as it is at this moment. In another boot than its own, nothing of it can be alive. */
export async function observeRun(folder: string, run: Run, deps: ObserveDeps): Promise<RunView> {
  const { bootId, waitedMs = Infinity } = deps;
  const mark = markPath(deps.layout, run.id);
  const before = readMarks(mark);
  const main = before.started?.main ?? run.main;
  const ref: RunRef = { folder, runId: run.id, main, leaf: run.leaf };
  const confinement = deps.confinementOf(ref);
  const rebooted = run.bootId !== bootId;
  const mayLive = !rebooted && before.claim === "launcher";
  const list = () => confinement.processes(ref);
  const listed = mayLive ? await list() : [];
  const launcherAlive = mayLive && launcherLives(before, waitedMs);
  // The launcher's last act is to write the status down: once it is gone, what it wrote is there to read. A launcher that
  // had not claimed the run when we looked was not looked for either, so the first reading stands.
  const { claim, started, failure, exit } = mayLive && !launcherAlive ? readMarks(mark) : before;
  const hasEnded = exit !== undefined || (!launcherAlive && !(main && listed.includes(main.pid)));
  // Only then does it matter whose they are.
  const processes = hasEnded
    ? await withoutVisitors(listed, { runId: run.id, main: main?.pid, survivor: run.survivor, list })
    : listed;
  const usage = mayLive ? await confinement.usage(ref) : undefined;
  return {
    claim,
    launcher: before.launcher,
    launcherAlive,
    rebooted,
    started,
    failure,
    exit,
    processes,
    oomKills: usage?.oomKills ?? 0,
  };
}

/** A claim without content is one whose launcher is about to sign it; one that has not in this time never will. */
const signingMs = 10_000;

function launcherLives({ launcher }: Marks, waitedMs: number): boolean {
  return launcher ? isAlive(launcher) : waitedMs < signingMs;
}
