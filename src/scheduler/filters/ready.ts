import { tolerates } from "../tolerations.ts";
import type { NodeFilter } from "./filter.ts";

const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** The Node must say that it is ready. */
export const ready: NodeFilter = {
  kind: "node",
  name: "ready",
  passes: ({ tolerations }, { facts }) => facts.ready || tolerates(tolerations, taint),
  why: () => "not ready",
};
