/** Why no node will do, in kube-scheduler's style. Pure. */
import { type Filter, filters } from "../filters/filters.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SchedulerApp } from "../types.ts";

export interface Refusals {
  /** How many nodes there are. */
  total: number;
  /** Names of the filters that refused. */
  filters: string[];
  reasons: { text: string; nodes: number }[];
}

/** Asks every node for the first filter that refuses it. */
export function collectRefusals(app: SchedulerApp, nodes: readonly NodeEntry[]): Refusals {
  const refused = new Map<Filter, NodeEntry[]>();
  for (const node of nodes) {
    const filter = firstRefusal(app, node);
    if (!filter) continue;
    const others = refused.get(filter);
    if (others) others.push(node);
    else refused.set(filter, [node]);
  }
  const reasons = [...refused].flatMap(([filter, nodes]) => reasonsOf(app, filter, nodes));
  reasons.sort((a, b) => b.nodes - a.nodes || (a.text < b.text ? -1 : 1));
  return { total: nodes.length, filters: [...refused.keys()].map(({ name }) => name), reasons };
}

/** `0/5 nodes are available: 3 cpuPCT (need 40, at most 25 free), 2 not ready`. */
export function formatRefusals({ total, reasons }: Refusals): string {
  const why = reasons.map(({ text, nodes }) => `${nodes} ${text}`).join(", ");
  return `0/${total} nodes are available: ${why || "there is no node"}`;
}

/** The first filter that refuses the node to the app. */
export function firstRefusal(app: SchedulerApp, node: NodeEntry): Filter | undefined {
  return filters.find((filter) => !passes(filter, app, node));
}

/** Every filter that refuses, for people who ask about one app. */
export function allRefusals(app: SchedulerApp, node: NodeEntry): string[] {
  return filters.filter((filter) => !passes(filter, app, node)).map((filter) => why(filter, app, node));
}

function passes(filter: Filter, app: SchedulerApp, node: NodeEntry): boolean {
  return filter.kind === "node" ? filter.passes(app.placement, node) : filter.passes(app, node);
}

function why(filter: Filter, app: SchedulerApp, node: NodeEntry): string {
  return filter.kind === "node" ? filter.why(app.placement, node) : filter.why(app, node);
}

function reasonsOf(app: SchedulerApp, filter: Filter, nodes: NodeEntry[]): { text: string; nodes: number }[] {
  if (filter.kind === "load" && filter.whyAll) {
    return [{ text: filter.whyAll(app, nodes), nodes: nodes.length }];
  }
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const text = why(filter, app, node);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, nodes]) => ({ text, nodes }));
}
