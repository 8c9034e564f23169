/** Why no node fits an app, in kube-scheduler's style. Pure. */
import { type Filter, filters } from "../filters/filters.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SpreadRulesView } from "../spread/spread.ts";
import type { ClusterEvent, SchedulerApp } from "../types.ts";

export interface Refusals {
  total: number;
  helpedBy: readonly ClusterEvent[];
  reasons: { text: string; nodes: number }[];
}

/** Finds the first filter that refuses each node. */
export function collectRefusals(
  app: SchedulerApp,
  nodes: readonly NodeEntry[],
  now: number,
  rules?: SpreadRulesView,
): Refusals {
  if (nodes.length === 0) return { total: 0, helpedBy: ["node"], reasons: [] };
  const refused = new Map<Filter, NodeEntry[]>();
  for (const node of nodes) {
    const filter = filters.find((filter) => !passes(filter, app, node, now, rules));
    if (!filter) continue;
    const others = refused.get(filter);
    if (others) others.push(node);
    else refused.set(filter, [node]);
  }
  const reasons = [...refused].flatMap(([filter, nodes]) => reasonsOf(app, filter, nodes, rules));
  reasons.sort((a, b) => b.nodes - a.nodes || (a.text < b.text ? -1 : 1));
  const helpedBy = new Set([...refused.keys()].flatMap((filter) => filter.helpedBy));
  return { total: nodes.length, helpedBy: [...helpedBy], reasons };
}

/** Each node may have a taint of its own. */
const maxReasons = 16;

/** `0/5 nodes are available: 3 cpuPCT (need 40, at most 25 free), 2 not ready`. */
export function formatRefusals({ total, reasons }: Refusals): string {
  const shown = reasons.slice(0, maxReasons).map(({ text, nodes }) => `${nodes} ${text}`);
  const others = reasons.slice(maxReasons).reduce((sum, { nodes }) => sum + nodes, 0);
  const why = [...shown, ...(others > 0 ? [`${others} for other reasons`] : [])].join(", ");
  return `0/${total} nodes are available: ${why || "the cluster has no nodes"}`;
}

/** Returns the reasons of all filters that refuse the node, for `--explain`. */
export function allRefusals(
  app: SchedulerApp,
  node: NodeEntry,
  now: number,
  rules?: SpreadRulesView,
): string[] {
  const refusing = filters.filter((filter) => !passes(filter, app, node, now, rules));
  return refusing.map((filter) => why(filter, app, node, rules));
}

function passes(
  filter: Filter,
  app: SchedulerApp,
  node: NodeEntry,
  now: number,
  rules?: SpreadRulesView,
): boolean {
  return filter.kind === "node" ? filter.passes(app.placement, node) : filter.passes(app, node, now, rules);
}

function why(filter: Filter, app: SchedulerApp, node: NodeEntry, rules?: SpreadRulesView): string {
  return filter.kind === "node" ? filter.why(app.placement, node) : filter.why(app, node, rules);
}

function reasonsOf(
  app: SchedulerApp,
  filter: Filter,
  nodes: NodeEntry[],
  rules?: SpreadRulesView,
): { text: string; nodes: number }[] {
  if (filter.kind === "load" && filter.whyAll) {
    return [{ text: filter.whyAll(app, nodes), nodes: nodes.length }];
  }
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const text = why(filter, app, node, rules);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, nodes]) => ({ text, nodes }));
}
