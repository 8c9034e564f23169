import { formatPort } from "../host-ports.ts";
import { claimants } from "./nominations.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { SchedulerApp } from "../types.ts";
import type { LoadFilter } from "./filter.ts";

/** A port of the host is given to one app only. */
export const ports: LoadFilter = {
  kind: "load",
  name: "ports",
  passes: (app, node) => app.ports.length === 0 || takenPort(app, node) === undefined,
  why: (app, node) => `host port ${formatPort(takenPort(app, node)!)}`,
};

function takenPort(app: SchedulerApp, node: NodeEntry): number | undefined {
  const claimed = claimants(app, node);
  return app.ports.find((port) =>
    node.ports.has(port) || claimed.some((other) => other.ports.includes(port))
  );
}
