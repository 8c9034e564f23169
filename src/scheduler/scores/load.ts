import { wholeNode } from "../points.ts";
import type { LoadScore } from "./score.ts";

/** A report that is older says nothing about now: agents write theirs every 10 s. */
const freshMs = 40_000;

/**
 * How idle the node really is, by what its agent measured, plus what was bound there since: else all apps of a burst would follow
 * one old report. Without a fresh report a node is taken to use what is bound to it.
 */
export const load: LoadScore = {
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
};

function idle(cpu: number, mem: number): number {
  return Math.max(0, wholeNode - Math.max(cpu, mem));
}
