import { wholeNode } from "../points.ts";
import { tolerates } from "../tolerations.ts";
import type { NodeScore } from "./score.ts";

/** Each taint with PreferNoSchedule that the app does not bear makes the node less welcome. */
export const preferredTaints: NodeScore = {
  kind: "node",
  name: "taints",
  weights: { spread: 6, binpack: 6 },
  score({ tolerations }, { facts }) {
    let burdens = 0;
    for (const taint of facts.taints) {
      if (taint.effect === "PreferNoSchedule" && !tolerates(tolerations, taint)) burdens++;
    }
    return Math.floor(wholeNode / (1 + burdens));
  },
};
