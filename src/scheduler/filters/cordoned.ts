import { tolerates } from "../tolerations.ts";
import type { NodeFilter } from "./filter.ts";

const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** `kubectl cordon` and `drain` keep new apps away. */
export const cordoned: NodeFilter = {
  kind: "node",
  name: "cordoned",
  passes: ({ tolerations }, { facts }) => !facts.cordoned || tolerates(tolerations, taint),
  why: () => "cordoned",
};
