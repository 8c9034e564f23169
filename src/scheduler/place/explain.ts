/** Explains the placement of an app: for every node, why it is refused or how it scores. Pure. */
import { placeApp } from "./place.ts";
import { formatPoints } from "../points.ts";
import { allRefusals } from "./refusals.ts";
import { scores } from "../scores.ts";
import { type PlaceOptions, rulesAmong } from "./choose-node.ts";
import type { SpreadRulesView } from "../spread/spread.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SchedulerApp } from "../types.ts";
import type { ClusterState } from "../state/state.ts";

export interface Explanation {
  app: SchedulerApp;
  /** What the scheduler would do now. */
  outcome: string;
  nodes: NodeExplanation[];
}

export interface NodeExplanation {
  node: string;
  /** The reasons of all filters that refuse it; empty if it fits. */
  refusals: string[];
  /** Weighted points by score, if it fits. */
  scores: Record<string, number>;
  total: number;
}

/**
 * A bound app is explained as if it were not bound. All nodes are scored, while the scheduler scores only some in a cluster of more
 * than 100: its choice may differ.
 */
export function explainApp(
  key: string,
  cluster: ClusterState,
  options: PlaceOptions,
): Explanation | undefined {
  const app = cluster.apps.get(key);
  if (!app) return undefined;
  cluster.accounts.remove(key);
  const decision = placeApp({ ...app, nodeName: undefined }, cluster, {
    ...options,
    enough: (nodes) => nodes,
  });
  const outcome = decision.kind === "bind" ? `it would be bound to node ${decision.node}` : decision.message;
  const rules = rulesAmong(decision.app, cluster.snapshot, options.policy);
  const nodes = cluster.snapshot.nodes.map((node) => explainNode(decision.app, node, options, rules));
  addSpread(nodes, cluster, rules);
  nodes.sort((a, b) => b.total - a.total || (a.node < b.node ? -1 : 1));
  const bound = app.nodeName ? `bound to node ${app.nodeName}; if it were not, ` : "";
  return { app: decision.app, outcome: bound + outcome, nodes };
}

/** Returns the explanation as rows of a table, with a header row. */
export function explanationRows({ nodes }: Explanation): string[][] {
  const names = [...scores.map(({ name }) => name), spreadColumn];
  const rows = nodes.map(({ node, refusals, scores, total }) =>
    refusals.length > 0
      ? [node, "no", ...names.map(() => "-"), "-", refusals.join(", ")]
      : [node, "yes", ...names.map((name) => points(scores[name] ?? 0)), points(total), ""]
  );
  return [["NODE", "FITS", ...names.map((name) => name.toUpperCase()), "TOTAL", "REFUSED BY"], ...rows];
}

export function describeRequest({ key, cpu, mem, ports, priority }: SchedulerApp): string {
  const cap = (points: number) => points === 0 ? "no cap" : formatPoints(points);
  const list = ports.length > 0 ? `, ${ports.length} host ports` : "";
  return `${key}: cpuPCT ${cap(cpu)}, memPCT ${cap(mem)}${list}, priority ${priority}`;
}

const spreadColumn = "spread";

/** What the app prefers among others is relative: nodes are compared with each other. */
function addSpread(nodes: NodeExplanation[], { snapshot }: ClusterState, rules?: SpreadRulesView): void {
  const fitting = nodes.filter(({ refusals }) => refusals.length === 0);
  const points = fitting.map(() => 0);
  rules?.score(fitting.map(({ node }) => snapshot.node(node)!), points);
  for (const [at, explained] of fitting.entries()) {
    explained.scores[spreadColumn] = points[at]!;
    explained.total += points[at]!;
  }
}

function explainNode(
  app: SchedulerApp,
  node: NodeEntry,
  { policy, now }: PlaceOptions,
  rules?: SpreadRulesView,
): NodeExplanation {
  const refusals = allRefusals(app, node, now, rules);
  if (refusals.length > 0) return { node: node.name, refusals, scores: {}, total: -Infinity };
  const weighted = scores.map((score) => {
    const value = score.kind === "node"
      ? score.score(app.placement, node)
      : score.score(app, node, { policy, now });
    return [score.name, score.weights[policy] * value] as const;
  });
  const total = weighted.reduce((sum, [, value]) => sum + value, 0);
  return { node: node.name, refusals, scores: Object.fromEntries(weighted), total };
}

function points(score: number): string {
  return (score / 1000).toFixed(1);
}
