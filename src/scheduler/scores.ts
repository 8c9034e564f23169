/**
 * Scores rank the nodes that passed all filters. A node's total is the sum of its scores, each times its weight.
 *
 * To add a score, add an entry to `nodeScores` or `loadScores`. A score is a whole number from 0 (`0`) to 100,000 (`wholeNode`), and
 * weights are whole numbers: scores are computed hundreds of times per decision, and whole numbers need no heap memory. In a cluster
 * of more than 100 nodes only some nodes are scored for each app, see `enoughNodes` in place/choose-node.ts.
 */
import type { NodeEntry } from "./node-entry.ts";
import { leastForSpreading, wholeNode } from "./points.ts";
import { firstEviction, matchesTerm, tolerates } from "../api/placement/placement.ts";
import type { Placement, Policy, SchedulerApp } from "./types.ts";

interface ScoreBase {
  /** Its column in the output of `--explain`. */
  readonly name: string;
  readonly weights: Readonly<Record<Policy, number>>;
}

/** Reads only the node itself and the app's placement rules, so that its answer is cached until the Node changes. */
interface NodeScore extends ScoreBase {
  readonly kind: "node";
  score(placement: Placement, node: NodeEntry): number;
}

/** Reads what is bound to the node; computed in every decision. */
interface LoadScore extends ScoreBase {
  readonly kind: "load";
  score(app: SchedulerApp, node: NodeEntry, context: ScoreContext): number;
}

export interface ScoreContext {
  readonly policy: Policy;
  readonly now: number;
}

/** More than all other scores together: only a node that can keep the app has as many points. */
const lastingWeight = 1000;
export const lastingPoints = lastingWeight * wholeNode;

export const nodeScores: readonly NodeScore[] = [
  // A node with a NoExecute taint that the app tolerates only for some time is the last resort: it would soon be evicted.
  {
    kind: "node",
    name: "lasting",
    weights: { spread: lastingWeight, binpack: lastingWeight },
    score: ({ tolerations }, { properties }) =>
      firstEviction(tolerations, properties.taints) === undefined ? wholeNode : 0,
  },
  // The share of the app's preferred node affinity, by weight, that the node meets.
  {
    kind: "node",
    name: "affinity",
    // As much as two or three apps of the same family more.
    weights: { spread: 16, binpack: 4 },
    score({ preferred }, { properties, name }) {
      let [met, all] = [0, 0];
      for (const { weight, preference } of preferred) {
        all += weight;
        if (matchesTerm(preference, properties.labels, name)) met += weight;
      }
      return all === 0 ? 0 : Math.floor(met / all * wholeNode);
    },
  },
  // Each PreferNoSchedule taint that the app does not tolerate lowers the score.
  {
    kind: "node",
    name: "taints",
    weights: { spread: 24, binpack: 6 },
    score({ tolerations }, { properties }) {
      let untolerated = 0;
      for (const taint of properties.taints) {
        if (taint.effect === "PreferNoSchedule" && !tolerates(tolerations, taint)) untolerated++;
      }
      return Math.floor(wholeNode / (1 + untolerated));
    },
  },
];

/** Older reports are ignored: agents write one every 10 s. */
const freshMs = 40_000;

export const loadScores: readonly LoadScore[] = [
  // The share that is free with the app on the node, or under binpack the allocated share: the mean of CPU and memory.
  {
    kind: "load",
    name: "allocated",
    weights: { spread: 2, binpack: 4 },
    score(app, node, { policy }) {
      const cpu = node.spreadCpu + (app.cpu || leastForSpreading);
      const mem = node.spreadMem + (app.mem || leastForSpreading);
      const allocated = Math.min(wholeNode, (cpu + mem) >> 1);
      return policy === "binpack" ? allocated : wholeNode - allocated;
    },
  },
  // CPU and memory should run out together, so that neither is unused on a node where the other is gone.
  {
    kind: "load",
    name: "balance",
    weights: { spread: 2, binpack: 2 },
    score(app, node) {
      const cpu = node.spreadCpu + (app.cpu || leastForSpreading);
      const mem = node.spreadMem + (app.mem || leastForSpreading);
      return Math.max(0, wholeNode - Math.abs(cpu - mem));
    },
  },
  // How idle the node is, as measured by its agent, plus what was bound since then: otherwise all apps of a burst would follow one old
  // report. Without a fresh report a node is assumed to use what is bound to it.
  {
    kind: "load",
    name: "load",
    weights: { spread: 2, binpack: 1 },
    score(_, node, { now }) {
      const { report, spreadCpu, spreadMem } = node;
      if (report === undefined || now - report.at > freshMs) return idle(spreadCpu, spreadMem);
      return idle(
        report.cpu + Math.max(0, spreadCpu - node.reportedSpreadCpu),
        report.mem + Math.max(0, spreadMem - node.reportedSpreadMem),
      );
    },
  },
];

export const scores: readonly (NodeScore | LoadScore)[] = [...loadScores, ...nodeScores];

function idle(cpu: number, mem: number): number {
  return Math.max(0, wholeNode - Math.max(cpu, mem));
}
