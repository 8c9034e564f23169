/** Decides what `kubectl ncapp drain` does with each app of a node. Pure. */
import { maxUnavailableOf } from "../../api/placement/placement.ts";
import { ownerSet } from "../../api/names.ts";
import type { NCApp, NCAppSet } from "../../api/types.ts";
import { hasEnded, pinnedBy, whyStays } from "../../api/placement/placement.ts";

export interface DrainPlan {
  /** To unbind, so that the scheduler places them elsewhere. */
  evict: NCApp[];
  /** No longer bound to the node, or being deleted, but not stopped yet. */
  leaving: NCApp[];
  /** Pinned to the node: whoever set `spec.nodeName` may set it again. */
  pinned: { app: NCApp; by: string }[];
  /** They stay. */
  ignored: { app: NCApp; why: string }[];
}

export function planDrain(apps: readonly NCApp[], node: string, { force = false } = {}): DrainPlan {
  const plan: DrainPlan = { evict: [], leaving: [], pinned: [], ignored: [] };
  for (const app of apps) {
    const isBound = app.spec.nodeName === node;
    if (!isBound && !isHeldBy(node, app)) continue;
    const why = isBound ? whyIgnored(app) : undefined;
    const by = pinnedBy(app);
    if (!isBound || app.metadata.deletionTimestamp) plan.leaving.push(app);
    else if (why) plan.ignored.push({ app, why });
    else if (by !== undefined && !force) plan.pinned.push({ app, by });
    else plan.evict.push(app);
  }
  return plan;
}

/** Reports whether processes of the app may exist on the node: its agent has taken it on and has not let it go. */
export function isHeldBy(node: string, { status }: NCApp): boolean {
  return status?.nodeName === node;
}

function whyIgnored(app: NCApp): string | undefined {
  return whyStays(app) ?? (hasEnded(app) ? "it has ended, and would run again elsewhere" : undefined);
}

/** The apps of sets that may not become unavailable now. Decides with `maxUnavailable` of each set, and counts what it lets go. */
export function createSetBudgets(
  sets: readonly NCAppSet[],
  apps: readonly NCApp[],
): (app: NCApp) => string | undefined {
  const budgets = new Map(sets.map(({ metadata, spec }) => {
    const own = apps.filter((app) => ownerSet(app)?.uid === metadata.uid);
    const unavailable = own.filter((app) => !isAvailable(app)).length;
    const most = maxUnavailableOf(spec.update?.maxUnavailable, own.length);
    return [metadata.uid, { unavailable, most }];
  }));
  return (app) => {
    const set = ownerSet(app);
    const budget = budgets.get(set?.uid ?? "");
    const current = apps.find(({ metadata }) => metadata.uid === app.metadata.uid);
    // One that is not available cannot be made worse.
    if (!set || !budget || !current || !isAvailable(current)) return undefined;
    if (budget.unavailable >= budget.most) {
      return `${budget.unavailable} apps of the set ${set.name} are unavailable (maxUnavailable ${budget.most})`;
    }
    budget.unavailable++;
    return undefined;
  };
}

function isAvailable({ spec, status, metadata }: NCApp): boolean {
  return Boolean(spec.nodeName) && status?.ready === true && status.nodeName === spec.nodeName &&
    !metadata.deletionTimestamp;
}
