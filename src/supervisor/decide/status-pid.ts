/**
 * Which process stands for a run in its status. Pure.
 *
 * It is the script's own until that has ended; then, where others live on, the oldest of them. The record changes only when the
 * process that was shown is gone, so that looks at a quiet app write nothing. That there is one tells any later agent that the
 * script daemonized.
 * Caveat: a daemon's process that ends while others of its run live is shown until the next whole look, two minutes at most.
 */
import type { Situation } from "./situation.ts";
import type { AppRecord, Run, RunView } from "../types.ts";

/** The record with a living process to show for each of its runs; the same record where those it has will do. */
export function withSurvivors(record: AppRecord, { view, others: views = [] }: Situation): AppRecord {
  const run = record.run && withSurvivor(record.run, view);
  const others = record.others?.map((other, index) => withSurvivor(other, views[index]));
  const isSame = run === record.run &&
    (others ?? []).every((other, index) => other === record.others?.[index]);
  return isSame ? record : { ...record, run, others };
}

/** The pid that stands for a run, as far as is known. */
export function shownPid({ main, survivor }: Run): number | undefined {
  return survivor ?? main?.pid;
}

function withSurvivor(run: Run, view: RunView | undefined): Run {
  if (!view?.exit) return run;
  // The processes may have been listed a moment before the script ended.
  const left = view.processes.filter((pid) => pid !== run.main?.pid);
  if (left.length === 0 || (run.survivor !== undefined && left.includes(run.survivor))) return run;
  // The lowest pid is the oldest process, but where pids have wrapped: then it is another one that lives.
  return { ...run, survivor: left.reduce((one, other) => Math.min(one, other)) };
}
