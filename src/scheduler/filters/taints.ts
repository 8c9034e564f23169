import type { NodeEntry } from "../node-entry.ts";
import { formatTaint, tolerates } from "../tolerations.ts";
import type { Placement, Taint } from "../types.ts";
import type { NodeFilter } from "./filter.ts";

/**
 * Taints that Kubernetes derives from conditions of the Node. Other filters look at those themselves, so that it does not matter how
 * soon the taints follow, or whether anybody takes them away. The network of Pods is no concern of NCApps.
 */
const derived: ReadonlySet<string> = new Set(
  [
    "not-ready",
    "unreachable",
    "unschedulable",
    "memory-pressure",
    "disk-pressure",
    "pid-pressure",
    "network-unavailable",
  ]
    .map((condition) => `node.kubernetes.io/${condition}`),
);

/** Taints with NoSchedule or NoExecute must be tolerated. */
export const taints: NodeFilter = {
  kind: "node",
  name: "taints",
  passes: (placement, node) => firstUntolerated(placement, node) === undefined,
  why: (placement, node) => `untolerated taint ${formatTaint(firstUntolerated(placement, node)!)}`,
};

function firstUntolerated({ tolerations }: Placement, { facts }: NodeEntry): Taint | undefined {
  return facts.taints.find((taint) =>
    taint.effect !== "PreferNoSchedule" && !derived.has(taint.key) && !tolerates(tolerations, taint)
  );
}
