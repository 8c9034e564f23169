import { matchesAny } from "../node-selector.ts";
import type { NodeFilter } from "./filter.ts";

/** Required node affinity: one of the terms must hold. */
export const nodeAffinity: NodeFilter = {
  kind: "node",
  name: "nodeAffinity",
  passes: ({ required }, { facts, name }) =>
    required === undefined || matchesAny(required, facts.labels, name),
  why: () => "node affinity",
};
