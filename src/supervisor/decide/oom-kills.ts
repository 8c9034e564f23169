/**
 * Counts out-of-memory kills, each once. Pure.
 *
 * The kernel counts them for an app's cgroup, which the runs of `concurrencyPolicy: Allow` share; it does not report which run was
 * hit. A kill of the whole group ends every run, so it is attributed to each. A kill of one process is attributed to the first run
 * that ends after it.
 */
import type { AppRecord, RunView } from "../types.ts";

/** The record at the end of a run, with the kills that no earlier end has counted. */
export function countKills(record: AppRecord, { oomKills }: RunView): AppRecord {
  const countedKills = Math.max(record.countedKills ?? 0, oomKills);
  return { ...record, oomKills: totalKills(record, oomKills), countedKills };
}

/** The view of a run with only those kills that may have ended it. */
export function withOwnKills({ app, countedKills = 0 }: AppRecord, view: RunView): RunView {
  if (app.spec.oomPolicy === "Group") return view;
  return { ...view, oomKills: Math.max(0, view.oomKills - countedKills) };
}

/** All kills of an app, including the `current` count of its cgroup. */
export function totalKills({ oomKills, countedKills = 0 }: AppRecord, current: number): number {
  return oomKills + Math.max(0, current - countedKills);
}
