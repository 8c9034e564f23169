/** Decides what `kubectl ncapp drain` does with each app of a node. Pure. */
import { disruptionCondition, isSettled } from "../../api/conditions.ts";
import { ownerSet } from "../../api/names.ts";
import {
  type Budget,
  covers,
  disruptionsLeft,
  hasEnded,
  maxUnavailableOf,
  noticeMs,
  pinnedBy,
  whyStays,
} from "../../api/placement/placement.ts";
import type { NCApp, NCAppSet } from "../../api/types.ts";

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

/** An app that this drain has evicted or unbound. */
export interface Moved {
  at: number;
  /** Its budgets see that it is gone. */
  hadPod: boolean;
}

export interface BudgetView {
  sets: readonly NCAppSet[];
  /** The apps of all namespaces that matter, as they are now. */
  apps: readonly NCApp[];
  budgets: readonly Budget[];
  node: string;
  /** By uid. */
  moved: ReadonlyMap<string, Moved>;
  now: number;
}

export interface DrainBudgets {
  /** Returns why the app may not become unavailable now. */
  refuses(app: NCApp): string | undefined;
  /** The app becomes unavailable. */
  spend(app: NCApp): void;
}

/**
 * Decides with `maxUnavailable` of each set, and with what PodDisruptionBudgets allow: the API server counts evictions, but knows neither of
 * apps that were unbound a moment ago, nor of those that have no Pod.
 */
export function countBudgets({ sets, apps, budgets, node, moved, now }: BudgetView): DrainBudgets {
  // One that was evicted runs until its agent and the scheduler have noticed.
  const isUp = (app: NCApp) =>
    isAvailable(app) && !(app.spec.nodeName === node && moved.has(app.metadata.uid ?? ""));
  const current = new Map(apps.map((app) => [app.metadata.uid, app]));
  const ofSets = new Map(sets.map(({ metadata, spec }) => {
    const own = apps.filter((app) => ownerSet(app)?.uid === metadata.uid);
    const unavailable = own.filter((app) => !isUp(app)).length;
    return [metadata.uid, { unavailable, most: maxUnavailableOf(spec.update?.maxUnavailable, own.length) }];
  }));
  const isCovered = (budget: Budget, { metadata }: NCApp) =>
    budget.namespace === metadata.namespace && covers(budget, metadata.labels);
  const isChanged = ({ metadata }: NCApp) => {
    const change = moved.get(metadata.uid ?? "");
    return change !== undefined && (!change.hadPod || now - change.at < noticeMs);
  };
  const left = new Map(budgets.map((budget) => {
    const covered = apps.filter((app) => isCovered(budget, app) && (isUp(app) || !isSettled(app)));
    const states = covered.map((app) => ({ ready: isUp(app), changed: isChanged(app) }));
    return [budget, disruptionsLeft(budget, states)];
  }));
  /** One that is not available cannot be made worse. */
  const costs = (app: NCApp) => {
    const newest = current.get(app.metadata.uid);
    return newest !== undefined && isUp(newest);
  };
  return {
    refuses(app) {
      if (!costs(app)) return undefined;
      const set = ownerSet(app);
      const ofSet = ofSets.get(set?.uid ?? "");
      if (set && ofSet && ofSet.unavailable >= ofSet.most) {
        return `${ofSet.unavailable} apps of the set ${set.name} are unavailable (maxUnavailable ${ofSet.most})`;
      }
      const spent = budgets.find((budget) => isCovered(budget, app) && left.get(budget) === 0);
      return spent && `the pod disruption budget ${spent.name} allows no disruption now`;
    },
    spend(app) {
      if (!costs(app)) return;
      const ofSet = ofSets.get(ownerSet(app)?.uid ?? "");
      if (ofSet) ofSet.unavailable++;
      for (const budget of budgets) if (isCovered(budget, app)) left.set(budget, left.get(budget)! - 1);
    },
  };
}

function isAvailable({ spec, status, metadata }: NCApp): boolean {
  // A rollout has changed it, and its agent has yet to restart it.
  const { generation = 0 } = metadata as { generation?: number };
  if ((status?.observedGeneration ?? generation) < generation) return false;
  return Boolean(spec.nodeName) && status?.ready === true && status.nodeName === spec.nodeName &&
    !metadata.deletionTimestamp &&
    !status.conditions?.some(({ type, status }) => type === disruptionCondition && status === "True");
}
