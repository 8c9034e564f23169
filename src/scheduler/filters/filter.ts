/** The interfaces of filters. A filter is a reason why a node may not run an app. */
import type { NodeEntry } from "../node-entry.ts";
import type { SpreadRulesView } from "../spread/spread.ts";
import type { ClusterEvent, Placement, SchedulerApp } from "../types.ts";

interface FilterBase {
  readonly name: string;
  /** Events after which an app that this filter refused is tried again. */
  readonly helpedBy: readonly [ClusterEvent, ...ClusterEvent[]];
}

/** Reads only the node itself and the app's placement rules, so that its answer is cached until the Node changes. */
export interface NodeFilter extends FilterBase {
  readonly kind: "node";
  passes(placement: Placement, node: NodeEntry): boolean;
  /** Why it does not pass, without the name of the node: equal reasons are counted together. */
  why(placement: Placement, node: NodeEntry): string;
}

/** Reads what is bound to the node or near it, or the time; evaluated in every decision. `rules` are those of the app among others. */
export interface LoadFilter extends FilterBase {
  readonly kind: "load";
  passes(app: SchedulerApp, node: NodeEntry, now: number, rules?: SpreadRulesView): boolean;
  why(app: SchedulerApp, node: NodeEntry, rules?: SpreadRulesView): string;
  /** One reason for all nodes that it refused. By default equal reasons are counted together. */
  whyAll?(app: SchedulerApp, nodes: readonly NodeEntry[]): string;
}

export type Filter = NodeFilter | LoadFilter;
