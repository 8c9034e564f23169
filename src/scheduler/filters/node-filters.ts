/** The filters that read the node itself, in the order in which they are evaluated. */
import { labelOf } from "../../api/label-selector.ts";
import {
  formatTaint,
  matchesAny,
  toleratesCondition,
  untoleratedPressure,
  untoleratedTaint,
} from "../../api/placement/placement.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { Placement, Taint } from "../types.ts";
import type { NodeFilter } from "./filter.ts";

export const nodeFilters: readonly NodeFilter[] = [
  {
    kind: "node",
    name: "agent",
    helpedBy: ["node"],
    passes: (_, node) => node.agent === "fresh",
    why: (_, node) => node.agent === "none" ? "no agent" : "agent lost",
  },
  {
    kind: "node",
    name: "ready",
    helpedBy: ["node"],
    passes: ({ tolerations }, { properties }) =>
      properties.ready || toleratesCondition(tolerations, "not-ready"),
    why: () => "not ready",
  },
  // `kubectl cordon` and `kubectl drain` keep new apps away.
  {
    kind: "node",
    name: "cordoned",
    helpedBy: ["node"],
    passes: ({ tolerations }, { properties }) =>
      !properties.cordoned || toleratesCondition(tolerations, "unschedulable"),
    why: () => "cordoned",
  },
  // A node that runs short of memory, disk or process IDs ends apps, so it gets no new ones that do not tolerate that.
  {
    kind: "node",
    name: "pressure",
    helpedBy: ["node"],
    passes: (placement, node) => pressureOn(placement, node) === undefined,
    why: (placement, node) => `${pressureOn(placement, node)} pressure`,
  },
  {
    kind: "node",
    name: "taints",
    helpedBy: ["node"],
    passes: (placement, node) => taintOf(placement, node) === undefined,
    why: (placement, node) => `untolerated taint ${formatTaint(taintOf(placement, node)!)}`,
  },
  // `spec.nodeSelector`: the node must have every label with its value.
  {
    kind: "node",
    name: "nodeSelector",
    helpedBy: ["node"],
    passes: ({ nodeSelector }, { properties }) =>
      nodeSelector.every(([key, value]) => labelOf(properties.labels, key) === value),
    why: () => "node selector",
  },
  {
    kind: "node",
    name: "nodeAffinity",
    helpedBy: ["node"],
    passes: ({ required }, { properties, name }) =>
      required === undefined || matchesAny(required, properties.labels, name),
    why: () => "node affinity",
  },
];

/** The kubelet and the agent may both report a shortage. */
function pressureOn({ tolerations }: Placement, { properties, report }: NodeEntry): string | undefined {
  return untoleratedPressure(tolerations, properties.pressures) ??
    (report && untoleratedPressure(tolerations, report.pressures));
}

function taintOf({ tolerations }: Placement, { properties }: NodeEntry): Taint | undefined {
  return untoleratedTaint(tolerations, properties.taints);
}
