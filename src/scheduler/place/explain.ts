/** Why an app is where it is, or nowhere: every node with what speaks against it, or how it scores. Pure. */
import { placeApp } from "./place.ts";
import { formatPoints } from "../points.ts";
import { allRefusals } from "./refusals.ts";
import { scores } from "../scores/scores.ts";
import type { PlaceOptions } from "./choose-node.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SchedulerApp } from "../types.ts";
import type { ClusterState } from "../state/state.ts";

export interface Explanation {
  app: SchedulerApp;
  /** What the scheduler would do now, in a sentence. */
  outcome: string;
  nodes: NodeExplanation[];
}

export interface NodeExplanation {
  node: string;
  /** Every filter that refuses it; empty: it may have the app. */
  refusals: string[];
  /** Weighted points by score, of nodes that may have the app. */
  scores: Record<string, number>;
  total: number;
}

/** Explains one app; where it is bound, as if it were not. All nodes are scored, also in a large cluster. */
export function explainApp(
  key: string,
  cluster: ClusterState,
  options: PlaceOptions,
): Explanation | undefined {
  const app = cluster.app(key);
  if (!app) return undefined;
  cluster.accounts.take(key);
  const decision = placeApp({ ...app, nodeName: undefined }, cluster, {
    ...options,
    enough: (nodes) => nodes,
  });
  const outcome = decision.kind === "bind" ? `it would be bound to ${decision.node}` : decision.message;
  const nodes = cluster.snapshot.nodes.map((node) => explainNode(decision.app, node, options));
  nodes.sort((a, b) => b.total - a.total || (a.node < b.node ? -1 : 1));
  const bound = app.nodeName ? `bound to ${app.nodeName}; were it not, ` : "";
  return { app: decision.app, outcome: bound + outcome, nodes };
}

/** The explanation as rows of a table, below a row of heads. */
export function explanationRows({ nodes }: Explanation): string[][] {
  const names = scores.map(({ name }) => name);
  const rows = nodes.map(({ node, refusals, scores, total }) =>
    refusals.length > 0
      ? [node, "no", ...names.map(() => "-"), "-", refusals.join(", ")]
      : [node, "yes", ...names.map((name) => points(scores[name] ?? 0)), points(total), ""]
  );
  return [["NODE", "FITS", ...names.map((name) => name.toUpperCase()), "TOTAL", "REFUSED BY"], ...rows];
}

/** One line about what the app asks for. */
export function describeRequest({ key, cpu, mem, ports, priority }: SchedulerApp): string {
  const cap = (points: number) => points === 0 ? "no cap" : formatPoints(points);
  const list = ports.length > 0 ? `, ${ports.length} host ports` : "";
  return `${key}: cpuPCT ${cap(cpu)}, memPCT ${cap(mem)}${list}, priority ${priority}`;
}

function explainNode(app: SchedulerApp, node: NodeEntry, { policy, now }: PlaceOptions): NodeExplanation {
  const refusals = allRefusals(app, node);
  if (refusals.length > 0) return { node: node.name, refusals, scores: {}, total: -1 };
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
