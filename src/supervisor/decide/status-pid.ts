/**
 * Chooses the process that the status of a run shows. Pure.
 *
 * It is the script's own process until that ends; then, if others live on, the oldest of them (the survivor). The record changes
 * only when the survivor is gone, so that observing a quiet app writes nothing. A survivor in the record also shows later agents
 * that the script daemonized.
 * Caveat: a daemon's process that ends while others of its run live is shown until the next full check, two minutes at most.
 */
import type { Situation } from "./situation.ts";
import type { AppRecord, Run, RunView } from "../types.ts";

/** The record with a living survivor for each run that needs one; the same record if nothing changes. */
export function withSurvivors(record: AppRecord, { view, others: views = [] }: Situation): AppRecord {
  const run = record.run && withSurvivor(record.run, view);
  const others = record.others?.map((other, index) => withSurvivor(other, views[index]));
  const isSame = run === record.run &&
    (others ?? []).every((other, index) => other === record.others?.[index]);
  return isSame ? record : { ...record, run, others };
}

export function statusPid({ main, survivor }: Run): number | undefined {
  return survivor ?? main?.pid;
}

function withSurvivor(run: Run, view: RunView | undefined): Run {
  if (!view?.exit) return run;
  // The processes may have been listed a moment before the script ended.
  const remaining = view.processes.filter((pid) => pid !== run.main?.pid);
  const isUpToDate = run.survivor !== undefined && remaining.includes(run.survivor);
  if (remaining.length === 0 || isUpToDate) return run;
  // The lowest pid is the oldest process, unless pids have wrapped: then it is another living one.
  return { ...run, survivor: remaining.reduce((a, b) => Math.min(a, b)) };
}
