/**
 * Checks at almost no cost whether an app is still as the last step found it: by the processes that were seen then.
 *
 * What a quick check cannot see is reported: a launcher writes marks, which are watched, and the kernel reports when a cgroup
 * becomes empty. Still, nothing is trusted for longer than `trustMs`.
 */
import { needsCopier } from "../decide/decide.ts";
import { pidExists } from "../processes.ts";
import type { AppRecord, ProcessId, RunView } from "../types.ts";

const trustMs = 120_000;

/** What the next quick checks compare with. */
export interface QuickCheck {
  until: number;
  /** The processes whose end would change something. */
  processes: ProcessId[];
}

/** The quick check for an app that needed nothing in the last step; undefined if it needs full steps. */
export function planQuickCheck(
  record: AppRecord,
  view: RunView | undefined,
  now: number,
): QuickCheck | undefined {
  if (record.phase !== "Running" || record.others?.length || !view || view.processes.length === 0) {
    return undefined;
  }
  // Nothing reports a copier, or that none could be started.
  if (needsCopier(view)) return undefined;
  const { launcher, launcherAlive, copier, started, processes } = view;
  const main = started && processes.includes(started.main.pid) ? started.main : undefined;
  // The kernel reports when the last process is gone. If exec processes stay, only the end of the survivor shows it.
  const survivor = main ?? { pid: record.run?.survivor ?? processes[0]!, startTime: "" };
  // A living launcher waits for its script, and writes a mark when it ends.
  const watched = launcher && launcherAlive ? [launcher] : copier ? [survivor, copier] : [survivor];
  return { until: now + trustMs, processes: watched };
}

/** Reports whether the quick check finds no change. A clock that was set back makes it fail, too. */
export function looksUnchanged(
  { until, processes }: QuickCheck,
  now: number,
  lives: (target: ProcessId) => boolean = pidExists,
): boolean {
  return now < until && until - now <= trustMs && processes.every(lives);
}
