import type { NodeEntry } from "../node-entry.ts";
import { tolerates } from "../tolerations.ts";
import type { Placement } from "../types.ts";
import type { NodeFilter } from "./filter.ts";

/** A node that runs short of memory, disk or process ids ends apps; it gets no new ones, unless they bear it. */
export const pressure: NodeFilter = {
  kind: "node",
  name: "pressure",
  passes: (placement, node) => firstBurden(placement, node) === undefined,
  why: (placement, node) => `${firstBurden(placement, node)} pressure`,
};

function firstBurden({ tolerations }: Placement, { facts, report }: NodeEntry): string | undefined {
  const bears = (what: string) =>
    tolerates(tolerations, { key: `node.kubernetes.io/${what}-pressure`, effect: "NoSchedule" });
  return facts.pressures.find((what) => !bears(what)) ?? report?.pressures.find((what) => !bears(what));
}
