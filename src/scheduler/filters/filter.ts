/** What a filter is: a reason for which a node may not have an app. One file each beside this one; filters.ts is their list. */
import type { NodeEntry } from "../node-entry.ts";
import type { Placement, SchedulerApp } from "../types.ts";

/** Looks at the node itself and the app's rules alone, so that its answer is remembered until the Node changes. */
export interface NodeFilter {
  readonly kind: "node";
  readonly name: string;
  passes(placement: Placement, node: NodeEntry): boolean;
  /** Why it does not pass, without the name of the node: equal reasons are counted together. */
  why(placement: Placement, node: NodeEntry): string;
}

/** Looks at what is bound to the node; asked in every decision. Ending apps of lower priority can change its mind. */
export interface LoadFilter {
  readonly kind: "load";
  readonly name: string;
  passes(app: SchedulerApp, node: NodeEntry): boolean;
  why(app: SchedulerApp, node: NodeEntry): string;
  /** One reason for all the nodes that it refused. Default: equal ones are counted together. */
  whyAll?(app: SchedulerApp, nodes: readonly NodeEntry[]): string;
}

export type Filter = NodeFilter | LoadFilter;
