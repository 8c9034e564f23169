/**
 * Spreads apps over nodes and zones, and keeps apps apart.
 *
 * By default the apps of a family (of one set, or with the same name label in a namespace) are spread over nodes, then over zones, as a
 * score. `topologySpreadConstraints` and `appAntiAffinity` of an app are filters or scores. `SpreadCounts` has the counts of bound apps,
 * `Counter` those of one selector; this file applies the rules of one app to them.
 *
 * As for Pods, except that the domain with the fewest apps is one that could get the app: the zone or host of a cordoned or lost node
 * does not make a constraint unsatisfiable.
 */
import { matchesSelector } from "../../api/label-selector.ts";
import type { NodeEntry } from "../node-entry.ts";
import { wholeNode } from "../points.ts";
import type { Policy, SchedulerApp } from "../types.ts";
import type { Counter, DomainCounts } from "./counter.ts";
import type { SpreadCounts } from "./spread-counts.ts";
import { byNode } from "./topology.ts";

export { SpreadCounts } from "./spread-counts.ts";

/** What the rules of an app say about nodes. */
export interface SpreadRulesView {
  /** Reports whether the node may get the app. */
  allows(node: NodeEntry): boolean;
  /** Returns why the node may not get the app; undefined if it may. */
  refusal(node: NodeEntry): string | undefined;
  /** Adds what the app prefers to the points of nodes, relative to each other. */
  score(nodes: readonly NodeEntry[], points: number[]): void;
}

export interface SpreadWorld {
  counts: SpreadCounts;
  /** Whether node filters accept the node with this index for the app. */
  accepts(index: number): boolean;
  /** Changes with every node. */
  version: number;
}

/** More than all scores of load together: replicas on one node are lost together, and a busy node is only slower. */
const stepPoints = 7 * wholeNode;
const zonePoints = 3 * wholeNode;
/** What more apps than the best node has can cost at most. */
const maxSteps = 10;
export const maxSpreadPoints = maxSteps * stepPoints;

const zoneKey = "topology.kubernetes.io/zone";
const hostKey = "kubernetes.io/hostname";

interface Check {
  allows(node: NodeEntry): boolean;
  /** Why it does not. */
  why(node: NodeEntry): string;
}

/** Counts apps near a node, and what one of them costs. */
interface Cost {
  near: DomainCounts;
  points: number;
  steps: number;
}

/** Returns undefined if the app has no rules: then nothing of this costs time. */
export function spreadRulesOf(
  app: SchedulerApp,
  world: SpreadWorld,
  policy: Policy,
): SpreadRulesView | undefined {
  const checks = [...constraintChecks(app, world), ...apartChecks(app, world)];
  const costs = [...familyCosts(app, world, policy), ...softCosts(app, world)];
  if (checks.length + costs.length === 0) return undefined;
  return {
    allows(node) {
      for (let at = 0; at < checks.length; at++) if (!checks[at]!.allows(node)) return false;
      return true;
    },
    refusal: (node) => checks.find((check) => !check.allows(node))?.why(node),
    score(nodes, points) {
      for (const cost of costs) addCost(cost, nodes, points);
    },
  };
}

/** Counts of one call; a new list for each would be garbage. */
let scratch = new Int32Array(256);

function addCost(
  { near: { topology: { ids }, counts }, points: each, steps }: Cost,
  nodes: readonly NodeEntry[],
  points: number[],
): void {
  if (nodes.length > scratch.length) scratch = new Int32Array(nodes.length * 2);
  let least = Infinity;
  for (let at = 0; at < nodes.length; at++) {
    const count = counts[ids[nodes[at]!.index]!] ?? 0;
    scratch[at] = count;
    if (count < least) least = count;
  }
  for (let at = 0; at < nodes.length; at++) {
    const more = scratch[at]! - least;
    if (more > 0) points[at]! -= Math.floor(each * Math.min(steps, more));
  }
}

function familyCosts(app: SchedulerApp, { counts }: SpreadWorld, policy: Policy): Cost[] {
  const family = policy === "spread" ? counts.family(app) : undefined;
  if (!family) return [];
  // A constraint of the app's own replaces the default for its topology.
  const names = (topologyKey: string) =>
    app.spread.constraints.some((own) => own.topologyKey === topologyKey);
  return [
    ...(names(hostKey) ? [] : [{ near: family.in(byNode), points: stepPoints, steps: maxSteps }]),
    ...(names(zoneKey) ? [] : [{ near: family.in(zoneKey), points: zonePoints, steps: 1 }]),
  ];
}

function softCosts({ spread }: SchedulerApp, { counts }: SpreadWorld): Cost[] {
  return [
    ...spread.constraints.filter(({ isHard }) => !isHard).map(({ selector, topologyKey, maxSkew }) => ({
      near: counts.selected(selector).in(topologyKey),
      points: stepPoints / maxSkew,
      steps: maxSteps * maxSkew,
    })),
    ...spread.dislikes.map(({ term, weight }) => ({
      near: counts.selected(term.selector).in(term.topologyKey),
      points: stepPoints * weight / 100,
      steps: maxSteps,
    })),
  ];
}

function constraintChecks(app: SchedulerApp, { counts, accepts, version }: SpreadWorld): Check[] {
  return app.spread.constraints.filter(({ isHard }) => isHard).map(({ selector, topologyKey, maxSkew }) => {
    const counter = counts.selected(selector);
    const least = counter.least(topologyKey, app.placement.key, version, accepts);
    const { topology: { ids }, counts: near } = counter.in(topologyKey);
    const own = matchesSelector(selector.match, app.labels) ? 1 : 0;
    const most = least + maxSkew - own;
    return {
      // Without a domain there is no count.
      allows: ({ index }) => (near[ids[index]!] ?? Infinity) <= most,
      why: ({ index }) =>
        (ids[index] ?? -1) < 0
          ? `topology spread: no label ${topologyKey}`
          : `topology spread over ${topologyKey} (maxSkew ${maxSkew}, the least is ${least})`,
    };
  });
}

/** Both ways: what the app avoids, and what avoids the app. A node without the label is in no domain. */
function apartChecks(app: SchedulerApp, { counts }: SpreadWorld): Check[] {
  const check = (counter: Counter, topologyKey: string, why: string): Check => {
    const { topology: { ids }, counts: near } = counter.in(topologyKey);
    return {
      allows: ({ index }) => (near[ids[index]!] ?? 0) === 0,
      why: () => `${why} over ${topologyKey}`,
    };
  };
  return [
    ...app.spread.avoids.map(({ selector, topologyKey }) =>
      check(counts.selected(selector), topologyKey, "anti-affinity")
    ),
    ...counts.against(app).map(({ term, carriers }) =>
      check(carriers, term.topologyKey, "anti-affinity of an app there")
    ),
  ];
}
