/**
 * Kills for want of memory, each counted once. Pure.
 *
 * The kernel counts them for an app's cgroup, which the runs of `concurrencyPolicy: Allow` share; it does not say whose they were.
 * A kill of the whole group ended every run that there was, so it is told of each. A kill of one process is told of the first run
 * that ends after it.
 */
import type { AppRecord, RunView } from "../types.ts";

/** The record at the end of a run, with the kills that were not counted at the end of another. */
export function countKills(record: AppRecord, { oomKills }: RunView): AppRecord {
  const countedKills = Math.max(record.countedKills ?? 0, oomKills);
  return { ...record, oomKills: totalKills(record, oomKills), countedKills };
}

/** The view of a run with those kills alone that may be the end of it. */
export function withOwnKills({ app, countedKills = 0 }: AppRecord, view: RunView): RunView {
  if (app.spec.oomPolicy === "Group") return view;
  return { ...view, oomKills: Math.max(0, view.oomKills - countedKills) };
}

/** All kills of an app, those that its cgroup shows now included. */
export function totalKills({ oomKills, countedKills = 0 }: AppRecord, shown: number): number {
  return oomKills + Math.max(0, shown - countedKills);
}
