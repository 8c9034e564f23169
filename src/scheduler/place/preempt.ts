/**
 * Finds a node on which an app would fit if apps of lower priority left it. Pure.
 *
 * Guarantees: victims have a lower priority than the app, none of them could stay, and no node filter is overruled. Of all ways that
 * were found the one is taken whose most important victim matters least, then the one with the fewest victims, then the one that
 * ends the smallest shares.
 * Caveat: which of several equal apps go is chosen one by one, largest first, and not by trying all combinations.
 */
import { isMovable, type Snapshot } from "../state/state.ts";
import type { NodeEntry } from "../node-entry.ts";
import { fits } from "./choose-node.ts";
import type { Policy, SchedulerApp } from "../types.ts";

export interface Preemption {
  node: string;
  /** Empty: the room is being made already, by apps that are leaving. */
  victims: SchedulerApp[];
}

export interface PreemptOptions {
  policy: Policy;
  /** Where in the list of nodes the search begins. */
  start?: number;
  /** How many nodes that would do are enough, of so many. */
  enough?: (nodes: number) => number;
}

/** The cheapest way to make room, or undefined. */
export function preempt(
  app: SchedulerApp,
  snapshot: Snapshot,
  options: PreemptOptions,
): Preemption | undefined {
  const { policy, start = 0, enough = (nodes) => Math.max(100, nodes / 10) } = options;
  const { nodes } = snapshot;
  const fitTable = snapshot.fitCache.for(app.placement, policy);
  // What is leaving that node was ended for this app. Elsewhere others would have to go, and those would have gone in vain.
  const nominated = snapshot.nominatedNode(app.key);
  if (
    nominated && nominated.index >= 0 && fitTable.of(nominated) >= 0 &&
    victimsOn(app, nominated)?.length === 0
  ) {
    return { node: nominated.name, victims: [] };
  }

  let best: Preemption | undefined;
  let found = 0;
  for (let examined = 0; examined < nodes.length && found < enough(nodes.length); examined++) {
    const node = nodes[(start + examined) % nodes.length]!;
    if (fitTable.of(node) < 0) continue;
    const victims = victimsOn(app, node);
    if (!victims) continue;
    found++;
    if (!best || compareCost(victims, best.victims) < 0) best = { node: node.name, victims };
  }
  return best;
}

/** Those who would have to leave the node, or undefined where even that would not do. */
export function victimsOn(app: SchedulerApp, node: NodeEntry): SchedulerApp[] | undefined {
  const lower = [...node.apps.values()].filter((other) => mayEnd(app, other));
  if (lower.length === 0 && node.leaving.size === 0) return undefined;
  const trial = node.copy();
  for (const key of node.leaving.keys()) trial.release(key);
  for (const { key } of lower) trial.remove(key);
  if (!fits(app, trial)) return undefined;
  // Who matters most is let back first, and of equals the smallest: so few large ones go instead of many small ones.
  lower.sort((a, b) => b.priority - a.priority || size(a) - size(b) || (a.key < b.key ? -1 : 1));
  return lower.filter((other) => {
    trial.add(other);
    if (fits(app, trial)) return false;
    trial.remove(other.key);
    return true;
  });
}

function mayEnd(app: SchedulerApp, other: SchedulerApp): boolean {
  return other.priority < app.priority && isMovable(other);
}

function compareCost(one: SchedulerApp[], other: SchedulerApp[]): number {
  return highest(one) - highest(other) || one.length - other.length || total(one) - total(other);
}

/** Below every priority where there is nobody: room that is being made already costs nothing. */
function highest(victims: SchedulerApp[]): number {
  return Math.max(-(2 ** 31), ...victims.map(({ priority }) => priority));
}

function total(victims: SchedulerApp[]): number {
  return victims.reduce((sum, victim) => sum + size(victim), 0);
}

function size({ cpu, mem }: SchedulerApp): number {
  return cpu + mem;
}
