/**
 * Counts out-of-memory kills, each once. Pure.
 *
 * The kernel counts them for an app's cgroup, which outlives the runs and which the runs of `concurrencyPolicy: Allow` share; it
 * does not report which run was hit. A kill of the whole group ends every run, so it is attributed to each. A kill of one process
 * is attributed to the first run that ends by SIGKILL after it.
 */
import type { AppRecord, KillCounts, OomPolicy, Run, RunView } from "../types.ts";

/** The record with all kills counted: at the end of a run, and before another policy counts in another way. */
export function countKills(record: AppRecord, { kills }: RunView): AppRecord {
  if (!kills) return record;
  const counted = { ...kills, policy: record.app.spec.oomPolicy };
  return { ...record, oomKills: totalKills(record, kills), counted };
}

/** Counts what happened under the old policy when the policy changes. */
export function withPolicyCounted(record: AppRecord, view: RunView | undefined): AppRecord {
  const { counted, app } = record;
  return view?.kills && counted && counted.policy !== app.spec.oomPolicy ? countKills(record, view) : record;
}

/** The kills that may have ended a run. */
export function ownKills({ app, counted }: AppRecord, run: Run, { kills }: RunView): number {
  const { oomPolicy } = app.spec;
  return killsBetween(oomPolicy === "Group" ? run.killsBefore : counted, kills, oomPolicy);
}

/** All kills of an app, including those that only the kernel has counted yet. */
export function totalKills({ app, oomKills, counted }: AppRecord, kills: KillCounts | undefined): number {
  return oomKills + killsBetween(counted, kills, counted?.policy ?? app.spec.oomPolicy);
}

/** A new cgroup counts from zero. */
function killsBetween(
  before: KillCounts | undefined,
  after: KillCounts | undefined,
  policy: OomPolicy,
): number {
  if (!after) return 0;
  const { processes = 0, groups = 0 } = before?.cgroup === after.cgroup ? before : {};
  const kills = policy === "Group" && after.groups !== undefined
    ? after.groups - groups
    : after.processes - processes;
  return Math.max(0, kills);
}
