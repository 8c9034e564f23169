/** Which events can change the mind of which filter: only then is an app tried again that no node would take. */
import type { ClusterEvent } from "./types.ts";

/** Reasons to wait that are no filters of nodes. `spec`: only a change of the app itself, or of its PriorityClass, helps. */
export type Gate = "nodes" | "leaving" | "quota" | "limitRange" | "spec";

const byLoad = ["ports", "cpuPCT", "memPCT"];
const byNode = ["agent", "ready", "cordoned", "pressure", "taints", "nodeSelector", "nodeAffinity"];

/** A test holds this against the list of filters: each needs an event that helps it. */
export const helps: Readonly<Record<ClusterEvent, readonly string[]>> = {
  node: ["nodes", ...byNode, ...byLoad],
  capacity: byLoad,
  left: ["leaving"],
  quota: ["quota"],
  // Its defaults are what an app asks for that does not say.
  limitRange: ["limitRange", "quota", ...byLoad],
};

/** True where the event may help an app that was refused for these reasons. */
export function mayHelp(event: ClusterEvent, refusedBy: readonly string[]): boolean {
  return refusedBy.some((reason) => helps[event].includes(reason));
}
