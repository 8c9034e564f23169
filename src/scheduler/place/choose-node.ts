/**
 * Chooses a node for an app. Pure: the same app, snapshot and options give the same answer, and nothing is changed.
 *
 * In a cluster of more than 100 nodes not every node is scored: the search starts where the last one ended and stops when `enoughNodes`
 * have passed all filters and can keep the app, so that the cost of a decision grows more slowly than the cluster. The best of those is chosen. An app is
 * refused only after every node was checked.
 */
import { loadFilters } from "../filters/filters.ts";
import type { NodeEntry } from "../node-entry.ts";
import { lastingPoints, loadScores, type ScoreContext } from "../scores.ts";
import { spreadRulesOf, type SpreadRulesView } from "../spread/spread.ts";
import type { Snapshot } from "../state/state.ts";
import type { Policy, SchedulerApp } from "../types.ts";
import { collectRefusals, type Refusals } from "./refusals.ts";

export interface PlaceOptions {
  policy: Policy;
  now: number;
  /** Chooses among nodes of equal score. */
  random: () => number;
  /** The index in the list of nodes at which the search starts. */
  start?: number;
  /** How many fitting nodes are enough in a cluster of this size. */
  enough?: (nodes: number) => number;
}

export type NodeChoice =
  | { node: string; score: number; feasible: number; examined: number }
  | { refusals: Refusals };

export function chooseNode(app: SchedulerApp, snapshot: Snapshot, options: PlaceOptions): NodeChoice {
  const { policy, now, random, start = 0, enough = enoughNodes } = options;
  const { nodes, versions } = snapshot;
  const fitTable = snapshot.fitCache.for(app.placement, policy);
  const context: ScoreContext = { policy, now };
  const weights = loadWeights[policy];
  const rules = rulesAmong(app, snapshot, policy);

  // Preemption freed capacity there for this app: with another choice the victims would have ended for nothing.
  const nominated = snapshot.nominatedNode(app.key);
  if (nominated && nominated.index >= 0 && fitTable.of(nominated) >= 0 && fits(app, nominated, now, rules)) {
    return { node: nominated.name, score: 0, feasible: 1, examined: 0 };
  }

  const wanted = enough(nodes.length);
  const found: NodeEntry[] = [];
  const scores: number[] = [];
  let feasible = 0;
  let examined = 0;
  for (let index = start; examined < nodes.length && feasible < wanted; examined++, index++) {
    if (index >= nodes.length) index = 0;
    const points = fitTable.at(index, versions, nodes);
    if (points < 0) continue;
    const node = nodes[index]!;
    if (!fits(app, node, now, rules)) continue;
    if (points >= lastingPoints) feasible++;
    found.push(node);
    scores.push(points + loadPoints(app, node, weights, context));
  }
  if (found.length === 0) return { refusals: collectRefusals(app, nodes, now, rules) };
  rules?.score(found, scores);
  const best = highest(scores, random);
  return { node: found[best]!.name, score: scores[best]!, feasible, examined };
}

/** Returns the index of the highest score; of equal ones, any. */
function highest(scores: readonly number[], random: () => number): number {
  let [best, ties] = [0, 1];
  for (let at = 1; at < scores.length; at++) {
    if (scores[at]! < scores[best]!) continue;
    ties = scores[at] === scores[best] ? ties + 1 : 1;
    if (ties === 1 || random() * ties < 1) best = at;
  }
  return best;
}

/** Returns the rules of the app about other apps; undefined if it has none. */
export function rulesAmong(
  app: SchedulerApp,
  snapshot: Snapshot,
  policy: Policy,
): SpreadRulesView | undefined {
  const { nodes, versions, version, spread: counts } = snapshot;
  const fitTable = snapshot.fitCache.for(app.placement, policy);
  const accepts = (index: number) => fitTable.at(index, versions, nodes) >= 0;
  return spreadRulesOf(app, { counts, version, accepts }, policy);
}

/** All nodes of a small cluster, and a shrinking part of a large one: 118 of 1,000, 198 of 5,000. More rarely find a better node. */
export function enoughNodes(nodes: number): number {
  return Math.floor(Math.min(nodes, 100 + Math.max(0, nodes - 100) / 50));
}

/** Reports whether the node has capacity for the app; node filters are not evaluated. */
export function fits(app: SchedulerApp, node: NodeEntry, now: number, rules?: SpreadRulesView): boolean {
  for (let at = 0; at < loadFilters.length; at++) {
    if (!loadFilters[at]!.passes(app, node, now, rules)) return false;
  }
  return true;
}

/** The weights of `loadScores` by policy: looking them up by name for each node costs more than scoring it. */
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
