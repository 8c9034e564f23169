/**
 * Finds a node on which an app would fit if apps of lower priority left it. Pure.
 *
 * Guarantees: victims have a lower priority than the app, none of them could stay, and node filters still apply. As in kube-scheduler,
 * apps whose PodDisruptionBudget allows no disruption are victims only where no others do. Of the options found,
 * the best is the one that violates the fewest budgets, then the one whose highest victim priority is lowest, then the one with the fewest victims, then the one with the smallest
 * victims.
 * Caveats: an app that may not run near others does not preempt them for that. Among apps of equal priority victims are chosen one by one, largest first, not by trying all combinations. In a cluster of
 * more than 100 nodes the search stops after 100 options, or a tenth of the nodes.
 */
import { isMovable, type Snapshot } from "../state/state.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SpreadRulesView } from "../spread/spread.ts";
import { fits, type PlaceOptions, rulesAmong } from "./choose-node.ts";
import type { SchedulerApp } from "../types.ts";

export interface Preemption {
  node: string;
  /** Empty if leaving apps already free enough capacity. */
  victims: SchedulerApp[];
}

/** Returns the apps whose disruption a budget does not allow, if all of these are disrupted. */
type Violations = (apps: readonly SchedulerApp[]) => SchedulerApp[];
const noViolations: Violations = () => [];

export function preempt(
  app: SchedulerApp,
  snapshot: Snapshot,
  options: Omit<PlaceOptions, "random"> & { violations?: Violations },
): Preemption | undefined {
  const { policy, now, start = 0, violations = noViolations, enough = (nodes) => Math.max(100, nodes / 10) } =
    options;
  const { nodes } = snapshot;
  const fitTable = snapshot.fitCache.for(app.placement, policy);
  const rules = rulesAmong(app, snapshot, policy);
  // Apps are already leaving that node for this app. On another node more would have to end, and these would have ended for nothing.
  const nominated = snapshot.nominatedNode(app.key);
  if (
    nominated && nominated.index >= 0 && fitTable.of(nominated) >= 0 &&
    victimsOn(app, nominated, now, rules)?.length === 0
  ) {
    return { node: nominated.name, victims: [] };
  }

  let best: Preemption | undefined;
  let bestCost = Infinity;
  let found = 0;
  for (let examined = 0; examined < nodes.length && found < enough(nodes.length); examined++) {
    const node = nodes[(start + examined) % nodes.length]!;
    if (fitTable.of(node) < 0) continue;
    const victims = victimsOn(app, node, now, rules, violations);
    if (!victims) continue;
    found++;
    const violated = violations(victims).length;
    if (!best || violated < bestCost || violated === bestCost && compareCost(victims, best.victims) < 0) {
      best = { node: node.name, victims };
      bestCost = violated;
    }
  }
  return best;
}

/** Returns the apps that would have to leave the node, or undefined if the app would not fit even then. */
export function victimsOn(
  app: SchedulerApp,
  node: NodeEntry,
  now: number,
  rules?: SpreadRulesView,
  violations: Violations = noViolations,
): SchedulerApp[] | undefined {
  const lower = [...node.apps.values()].filter((victim) => mayPreempt(app, victim));
  if (lower.length === 0 && node.leaving.size === 0) return undefined;
  const trial = node.copy();
  for (const key of node.leaving.keys()) trial.remove(key, "leaving");
  for (const { key } of lower) trial.remove(key);
  if (!fits(app, trial, now, rules)) return undefined;
  // Higher priorities are added back first, and among equals the smallest: few large apps end instead of many small ones.
  lower.sort((a, b) => b.priority - a.priority || size(a) - size(b) || (a.key < b.key ? -1 : 1));
  // Those whose budgets would be violated come before all.
  const violated = new Set(violations(lower));
  if (violated.size > 0) lower.sort((a, b) => Number(violated.has(b)) - Number(violated.has(a)));
  return lower.filter((victim) => {
    trial.add(victim);
    if (fits(app, trial, now, rules)) return false;
    trial.remove(victim.key);
    return true;
  });
}

function mayPreempt(app: SchedulerApp, victim: SchedulerApp): boolean {
  return victim.priority < app.priority && isMovable(victim);
}

function compareCost(a: SchedulerApp[], b: SchedulerApp[]): number {
  return highestPriority(a) - highestPriority(b) || a.length - b.length || totalSize(a) - totalSize(b);
}

/** Without victims, below every priority: capacity that is already being freed costs nothing. */
function highestPriority(victims: SchedulerApp[]): number {
  return Math.max(-(2 ** 31), ...victims.map(({ priority }) => priority));
}

function totalSize(victims: SchedulerApp[]): number {
  return victims.reduce((sum, victim) => sum + size(victim), 0);
}

function size({ cpu, mem }: SchedulerApp): number {
  return cpu + mem;
}
