/**
 * Which process stands for a run in its status. Pure.
 *
 * It is the script's own until that has ended; then, where others live on, the oldest of them. The record changes only when the
 * process that was shown is gone, so that looks at a quiet app write nothing.
 * Caveat: a daemon's process that ends while others of its run live is shown until the next whole look, two minutes at most.
 */
import type { AppRecord, Run, RunView } from "./types.ts";

/** The record with a living process to show for its run; the same record where the one it has will do. */
export function withSurvivor(record: AppRecord, view: RunView | undefined): AppRecord {
  const { run } = record;
  if (!run || !view?.exit) return record;
  // The processes may have been listed a moment before the script ended.
  const left = view.processes.filter((pid) => pid !== run.main?.pid);
  if (left.length === 0 || (run.survivor !== undefined && left.includes(run.survivor))) return record;
  // The lowest pid is the oldest process, but where pids have wrapped: then it is another one that lives.
  return { ...record, run: { ...run, survivor: left.reduce((one, other) => Math.min(one, other)) } };
}

/** The pid that stands for a run, as far as is known. */
export function shownPid({ main, survivor }: Run): number | undefined {
  return survivor ?? main?.pid;
}
