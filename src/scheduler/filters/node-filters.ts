/** The filters that read the node itself, in the order in which they are evaluated. */
import type { NodeEntry } from "../node-entry.ts";
import { label, matchesAny } from "../node-selector.ts";
import { formatTaint, tolerates } from "../tolerations.ts";
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
      properties.ready || tolerates(tolerations, conditionTaint("not-ready")),
    why: () => "not ready",
  },
  // `kubectl cordon` and `kubectl drain` keep new apps away.
  {
    kind: "node",
    name: "cordoned",
    helpedBy: ["node"],
    passes: ({ tolerations }, { properties }) =>
      !properties.cordoned || tolerates(tolerations, conditionTaint("unschedulable")),
    why: () => "cordoned",
  },
  // A node that runs short of memory, disk or process IDs ends apps, so it gets no new ones that do not tolerate that.
  {
    kind: "node",
    name: "pressure",
    helpedBy: ["node"],
    passes: (placement, node) => untoleratedPressure(placement, node) === undefined,
    why: (placement, node) => `${untoleratedPressure(placement, node)} pressure`,
  },
  {
    kind: "node",
    name: "taints",
    helpedBy: ["node"],
    passes: (placement, node) => untoleratedTaint(placement, node) === undefined,
    why: (placement, node) => `untolerated taint ${formatTaint(untoleratedTaint(placement, node)!)}`,
  },
  // `spec.nodeSelector`: the node must have every label with its value.
  {
    kind: "node",
    name: "nodeSelector",
    helpedBy: ["node"],
    passes: ({ nodeSelector }, { properties }) =>
      nodeSelector.every(([key, value]) => label(properties.labels, key) === value),
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

/**
 * Taints that Kubernetes derives from conditions of the Node. Other filters read these conditions themselves, so it does not matter
 * when the taints follow or whether they are removed. Apps do not use the Pod network.
 */
const derivedTaints: ReadonlySet<string> = new Set(
  [
    "not-ready",
    "unreachable",
    "unschedulable",
    "memory-pressure",
    "disk-pressure",
    "pid-pressure",
    "network-unavailable",
  ]
    .map((condition) => conditionTaint(condition).key),
);

function conditionTaint(condition: string): Taint {
  return { key: `node.kubernetes.io/${condition}`, effect: "NoSchedule" };
}

function untoleratedPressure(
  { tolerations }: Placement,
  { properties, report }: NodeEntry,
): string | undefined {
  const isUntolerated = (resource: string) => !tolerates(tolerations, conditionTaint(`${resource}-pressure`));
  return properties.pressures.find(isUntolerated) ?? report?.pressures.find(isUntolerated);
}

function untoleratedTaint({ tolerations }: Placement, { properties }: NodeEntry): Taint | undefined {
  return properties.taints.find((taint) =>
    taint.effect !== "PreferNoSchedule" && !derivedTaints.has(taint.key) && !tolerates(tolerations, taint)
  );
}
