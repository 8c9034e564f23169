/**
 * Tells whether an app that was as wanted at the last look still seems so, for next to nothing: by the processes that were seen then.
 *
 * What a glance cannot see tells of itself: a launcher writes marks that are watched, the kernel says when a cgroup becomes empty.
 * Still nothing is taken for granted for longer than `trustMs`.
 */
import { isThere } from "../processes.ts";
import type { AppRecord, ProcessId, RunView } from "../types.ts";

const trustMs = 120_000;

export interface Quiet {
  until: number;
  /** Those whose end would change something. */
  processes: ProcessId[];
}

/** What a look found that led to nothing, if the next looks may be glances. */
export function quietSince(record: AppRecord, view: RunView | undefined, now: number): Quiet | undefined {
  if (record.phase !== "Running" || record.others?.length || !view || view.processes.length === 0) {
    return undefined;
  }
  const { launcher, launcherAlive, started, processes } = view;
  const main = started && processes.includes(started.main.pid) ? started.main : undefined;
  // The kernel tells when the last process is gone. Where visitors stay, the end of the one that stands for the run tells it.
  const left = main ?? { pid: record.run?.survivor ?? processes[0]!, startTime: "" };
  // A launcher that lives waits for its script, and writes down when it ends.
  return { until: now + trustMs, processes: [launcher && launcherAlive ? launcher : left] };
}

/** Whether nothing has changed that a glance can see. A clock that was set back ends the trust, too. */
export function isStillQuiet(
  { until, processes }: Quiet,
  now: number,
  lives: (target: ProcessId) => boolean = isThere,
): boolean {
  return now < until && until - now <= trustMs && processes.every(lives);
}
