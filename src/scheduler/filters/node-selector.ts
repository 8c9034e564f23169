import { label } from "../node-selector.ts";
import type { NodeFilter } from "./filter.ts";

/** `spec.nodeSelector`: every label must be there with its value. */
export const nodeSelector: NodeFilter = {
  kind: "node",
  name: "nodeSelector",
  passes: (placement, { facts }) =>
    placement.nodeSelector.every(([key, value]) => label(facts.labels, key) === value),
  why: () => "node selector",
};
