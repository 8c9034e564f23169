/** Which events can change the mind of which filter: only then is an app tried again that no node would take. */

/**
 * `node`: a node came, changed for the better, or its agent is heard again. `capacity`: shares or ports of a node came free. `left`: an
 * app has stopped on the node that it left. The others: the rules of a namespace changed, or what is used of them.
 */
export type ClusterEvent = "node" | "capacity" | "left" | "quota" | "limitRange";

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
