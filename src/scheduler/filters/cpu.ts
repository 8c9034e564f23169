import { claimants } from "../nominations.ts";
import type { NodeEntry } from "../node-entry.ts";
import { formatPoints } from "../points.ts";
import type { AppRecord } from "../types.ts";
import type { LoadFilter } from "./filter.ts";

/** The caps on CPU of all apps of a node add up to no more than 100 less its reserve. An app without a cap always fits. */
export const cpu: LoadFilter = {
  kind: "load",
  name: "cpuPCT",
  passes: (app, node) => app.cpu === 0 || app.cpu <= freeCpu(app, node),
  why: (app, node) => `cpuPCT (need ${formatPoints(app.cpu)}, ${formatPoints(freeCpu(app, node))} free)`,
  whyAll: (app, nodes) => {
    const most = nodes.reduce((most, node) => Math.max(most, freeCpu(app, node)), 0);
    return `cpuPCT (need ${formatPoints(app.cpu)}, at most ${formatPoints(most)} free)`;
  },
};

function freeCpu(app: AppRecord, node: NodeEntry): number {
  let free = node.roomCpu - node.usedCpu - node.hiddenCpu;
  for (const other of claimants(app, node)) free -= other.cpu;
  return Math.max(0, free);
}
