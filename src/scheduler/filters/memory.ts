import { claimants } from "../nominations.ts";
import type { NodeEntry } from "../node-entry.ts";
import { formatPoints } from "../points.ts";
import type { AppRecord } from "../types.ts";
import type { LoadFilter } from "./filter.ts";

/** The caps on memory of all apps of a node add up to no more than 100 less its reserve. An app without a cap always fits. */
export const memory: LoadFilter = {
  kind: "load",
  name: "memPCT",
  passes: (app, node) => app.mem === 0 || app.mem <= freeMem(app, node),
  why: (app, node) => `memPCT (need ${formatPoints(app.mem)}, ${formatPoints(freeMem(app, node))} free)`,
  whyAll: (app, nodes) => {
    const most = nodes.reduce((most, node) => Math.max(most, freeMem(app, node)), 0);
    return `memPCT (need ${formatPoints(app.mem)}, at most ${formatPoints(most)} free)`;
  },
};

function freeMem(app: AppRecord, node: NodeEntry): number {
  let free = node.roomMem - node.usedMem - node.hiddenMem;
  for (const other of claimants(app, node)) free -= other.mem;
  return Math.max(0, free);
}
