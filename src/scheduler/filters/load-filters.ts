/** The filters that read what is bound to a node, or the time, in the order in which they are evaluated. */
import type { NodeEntry } from "../node-entry.ts";
import { formatPoints } from "../points.ts";
import { firstEviction, formatTaint, tolerationMs } from "../../api/placement/placement.ts";
import { formatPort, type SchedulerApp } from "../types.ts";
import type { LoadFilter } from "./filter.ts";

/** A changed LimitRange can help as well: it sets the caps of apps that have none. */
const helpedBy: LoadFilter["helpedBy"] = ["node", "capacity", "limitRange"];

export const loadFilters: readonly LoadFilter[] = [
  // A node whose taint the app has already tolerated for its `tolerationSeconds`: it would go back to where it was evicted from.
  {
    kind: "load",
    name: "tolerationSeconds",
    helpedBy: ["node"],
    passes: (app, node, now) =>
      node.properties.taints.length === 0 || app.placement.tolerations.length === 0 ||
      (firstTaintEviction(app, node)?.at ?? Infinity) > now,
    why(app, node) {
      const { taint } = firstTaintEviction(app, node)!;
      const toleratedMs = tolerationMs(app.placement.tolerations, [taint]) ?? 0;
      return `taint ${formatTaint(taint)} tolerated for ${toleratedMs / 1000} s only`;
    },
  },
  // A host port belongs to one app.
  {
    kind: "load",
    name: "ports",
    helpedBy,
    passes: (app, node) => app.ports.length === 0 || takenPort(app, node) === undefined,
    why: (app, node) => `host port ${formatPort(takenPort(app, node)!)}`,
  },
  shareFilter("cpuPCT", (app) => app.cpu, (node) => node.freeCpu),
  shareFilter("memPCT", (app) => app.mem, (node) => node.freeMem),
  // `spec.topologySpreadConstraints` and `spec.affinity.appAntiAffinity`. An app elsewhere may change the skew.
  {
    kind: "load",
    name: "spread",
    helpedBy: ["node", "capacity", "apps"],
    passes: (_, node, __, rules) => rules === undefined || rules.allows(node),
    why: (_, node, rules) => rules!.refusal(node)!,
  },
];

/** The caps of all apps of a node add up to at most 100% less its reserve. An app without a cap always fits. */
function shareFilter(
  name: string,
  requested: (app: SchedulerApp) => number,
  unused: (node: NodeEntry) => number,
): LoadFilter {
  const free = (app: SchedulerApp, node: NodeEntry) => {
    let points = unused(node);
    for (const claimant of claimants(app, node)) points -= requested(claimant);
    return Math.max(0, points);
  };
  const need = (app: SchedulerApp) => `${name} (need ${formatPoints(requested(app))}`;
  return {
    kind: "load",
    name,
    helpedBy,
    passes: (app, node) => requested(app) === 0 || requested(app) <= free(app, node),
    why: (app, node) => `${need(app)}, ${formatPoints(free(app, node))} free)`,
    whyAll: (app, nodes) => {
      const most = nodes.reduce((most, node) => Math.max(most, free(app, node)), 0);
      return `${need(app)}, at most ${formatPoints(most)} free)`;
    },
  };
}

function firstTaintEviction({ placement }: SchedulerApp, { properties }: NodeEntry) {
  return firstEviction(placement.tolerations, properties.taints);
}

function takenPort(app: SchedulerApp, node: NodeEntry): number | undefined {
  const claimed = claimants(app, node);
  return app.ports.find((port) =>
    node.ports.has(port) || claimed.some((claimant) => claimant.ports.includes(port))
  );
}

const none: readonly SchedulerApp[] = [];

/** Returns the apps that are nominated to the node and come before `app`: what they need is not free for it. */
function claimants(app: SchedulerApp, { nominated }: NodeEntry): readonly SchedulerApp[] {
  if (nominated.length === 0) return none;
  return nominated.filter(({ key, priority }) => key !== app.key && priority >= app.priority);
}
