/**
 * What a score is: how well a node suits an app. One file each beside this one; scores.ts is their list.
 *
 * Scores are whole numbers of 0 to 100,000, weights whole numbers too: they are asked hundreds of times in each decision, and whole
 * numbers cost no memory.
 */
import type { NodeEntry } from "../node-entry.ts";
import type { Placement, Policy, SchedulerApp } from "../types.ts";

/** How much a score counts, by policy; whole numbers. */
export type Weights = Readonly<Record<Policy, number>>;

/** Looks at the node itself and the app's rules alone, so that its answer is remembered until the Node changes. */
export interface NodeScore {
  readonly kind: "node";
  readonly name: string;
  readonly weights: Weights;
  score(placement: Placement, node: NodeEntry): number;
}

/** Looks at what is bound to the node; asked in every decision. */
export interface LoadScore {
  readonly kind: "load";
  readonly name: string;
  readonly weights: Weights;
  score(app: SchedulerApp, node: NodeEntry, context: ScoreContext): number;
}

export interface ScoreContext {
  readonly policy: Policy;
  readonly now: number;
}

export type Score = NodeScore | LoadScore;
