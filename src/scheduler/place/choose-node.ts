/**
 * Chooses a node for an app. Pure: the same app, snapshot and options give the same answer, and nothing is changed.
 *
 * In a large cluster not every node is scored: the search begins where the last one ended and stops when enough nodes have passed
 * all filters, so that the cost of a decision grows less than the cluster. A node is refused only after every node was asked.
 */
import { loadFilters } from "../filters/filters.ts";
import type { NodeEntry } from "../node-entry.ts";
import { collectRefusals, type Refusals } from "./refusals.ts";
import { loadScores, type ScoreContext } from "../scores/scores.ts";
import type { Snapshot } from "../state/state.ts";
import type { Policy, SchedulerApp } from "../types.ts";

export interface PlaceOptions {
  policy: Policy;
  now: number;
  /** Chooses among nodes of equal score. */
  random: () => number;
  /** Where in the list of nodes the search begins. */
  start?: number;
  /** How many nodes that pass are enough, of so many. */
  enough?: (nodes: number) => number;
}

export type NodeChoice =
  | { node: string; score: number; feasible: number; examined: number }
  | { refusals: Refusals };

/** The best node of those that were looked at, or why no node will do. */
export function chooseNode(app: SchedulerApp, snapshot: Snapshot, options: PlaceOptions): NodeChoice {
  const { policy, now, random, start = 0, enough = enoughNodes } = options;
  const { nodes, versions } = snapshot;
  const fitTable = snapshot.fitCache.for(app.placement, policy);
  const context: ScoreContext = { policy, now };
  const weights = loadWeights[policy];

  // Room was made there for this app: another choice would have ended the others in vain.
  const nominated = snapshot.nominatedNode(app.key);
  if (nominated && nominated.index >= 0 && fitTable.of(nominated) >= 0 && fits(app, nominated)) {
    return { node: nominated.name, score: 0, feasible: 1, examined: 0 };
  }

  const wanted = enough(nodes.length);
  let best: NodeEntry | undefined;
  let bestScore = -1;
  let ties = 0;
  let feasible = 0;
  let examined = 0;
  for (let at = start; examined < nodes.length && feasible < wanted; examined++, at++) {
    if (at >= nodes.length) at = 0;
    const points = fitTable.at(at, versions, nodes);
    if (points < 0) continue;
    const node = nodes[at]!;
    if (!fits(app, node)) continue;
    feasible++;
    const score = points + loadPoints(app, node, weights, context);
    if (score < bestScore) continue;
    ties = score === bestScore ? ties + 1 : 1;
    if (ties > 1 && random() * ties >= 1) continue;
    best = node;
    bestScore = score;
  }
  if (best) return { node: best.name, score: bestScore, feasible, examined };
  return { refusals: collectRefusals(app, nodes) };
}

/** All of a small cluster, then ever less: 118 nodes of 1,000, 198 of 5,000. More choice hardly finds a better node. */
export function enoughNodes(nodes: number): number {
  return Math.floor(Math.min(nodes, 100 + Math.max(0, nodes - 100) / 50));
}

/** Whether the node has room for the app, whatever else it is like. */
export function fits(app: SchedulerApp, node: NodeEntry): boolean {
  for (let at = 0; at < loadFilters.length; at++) if (!loadFilters[at]!.passes(app, node)) return false;
  return true;
}

/** The weights of `loadScores`, picked once: to look a policy up by its name for each node costs more than to score it. */
const loadWeights: Record<Policy, readonly number[]> = {
  spread: loadScores.map(({ weights }) => weights.spread),
  binpack: loadScores.map(({ weights }) => weights.binpack),
};

function loadPoints(
  app: SchedulerApp,
  node: NodeEntry,
  weights: readonly number[],
  context: ScoreContext,
): number {
  let points = 0;
  for (let at = 0; at < loadScores.length; at++) {
    points += weights[at]! * loadScores[at]!.score(app, node, context);
  }
  return points;
}
