import type { NodeEntry } from "../node-entry.ts";
import { formatTaint, tolerates } from "../tolerations.ts";
import type { Placement, Taint } from "../types.ts";
import type { NodeFilter } from "./filter.ts";

/** Taints with NoSchedule or NoExecute must be tolerated. */
export const taints: NodeFilter = {
  kind: "node",
  name: "taints",
  passes: (placement, node) => firstUntolerated(placement, node) === undefined,
  why: (placement, node) => `untolerated taint ${formatTaint(firstUntolerated(placement, node)!)}`,
};

function firstUntolerated({ tolerations }: Placement, { facts }: NodeEntry): Taint | undefined {
  return facts.taints.find((taint) => taint.effect !== "PreferNoSchedule" && !tolerates(tolerations, taint));
}
