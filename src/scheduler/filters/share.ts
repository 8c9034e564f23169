import { claimants } from "./nominations.ts";
import type { NodeEntry } from "../node-entry.ts";
import { formatPoints } from "../points.ts";
import type { SchedulerApp } from "../types.ts";
import type { LoadFilter } from "./filter.ts";

/** A filter on a share: what an app asks for must be free, over all apps of the node. An app without a cap always fits. */
export function shareFilter(
  name: string,
  asked: (app: SchedulerApp) => number,
  unused: (node: NodeEntry) => number,
): LoadFilter {
  const free = (app: SchedulerApp, node: NodeEntry) => {
    let points = unused(node);
    for (const other of claimants(app, node)) points -= asked(other);
    return Math.max(0, points);
  };
  const need = (app: SchedulerApp) => `${name} (need ${formatPoints(asked(app))}`;
  return {
    kind: "load",
    name,
    passes: (app, node) => asked(app) === 0 || asked(app) <= free(app, node),
    why: (app, node) => `${need(app)}, ${formatPoints(free(app, node))} free)`,
    whyAll: (app, nodes) => {
      const most = nodes.reduce((most, node) => Math.max(most, free(app, node)), 0);
      return `${need(app)}, at most ${formatPoints(most)} free)`;
    },
  };
}
