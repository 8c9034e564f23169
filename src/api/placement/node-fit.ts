/** Whether a node accepts an app, by its labels, taints and conditions. */
import { labelOf, type Labels } from "../label-selector.ts";
import type { Affinity, Toleration } from "../types.ts";
import { matchesAny } from "./node-selector.ts";
import type { NodeProperties } from "./read-node.ts";
import { evicts, type Taint, tolerates } from "./tolerations.ts";

type Tolerations = readonly Toleration[];

/** The fields of a spec that decide where its app runs. */
export interface PlacementRules {
  nodeSelector?: { [label: string]: string };
  affinity?: Affinity;
  tolerations?: Toleration[];
}

/** Reports whether the app chooses the node, by its labels and name. */
export function choosesNode(
  { nodeSelector, affinity }: PlacementRules,
  name: string,
  { labels }: NodeProperties,
): boolean {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (!nodeSelector || hasLabels(labels, nodeSelector)) &&
    (!required || matchesAny(required.nodeSelectorTerms, labels, name));
}

/** Reports whether a node with an agent accepts the app if it is new there. */
export function acceptsNew(
  { tolerations = [] }: PlacementRules,
  { ready, cordoned, pressures, taints }: NodeProperties,
): boolean {
  return (ready || toleratesCondition(tolerations, "not-ready")) &&
    (!cordoned || toleratesCondition(tolerations, "unschedulable")) &&
    untoleratedPressure(tolerations, pressures) === undefined &&
    untoleratedTaint(tolerations, taints) === undefined;
}

/** Reports whether a node keeps an app that it already has: no taint evicts it. */
export function keepsOld({ tolerations = [] }: PlacementRules, { taints }: NodeProperties): boolean {
  return taints.every((taint) => !evicts(taint) || tolerates(tolerations, taint));
}

/** Reports whether the node has every one of the labels, with its value. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labelOf(labels, key) === value);
}

/**
 * Taints that Kubernetes derives from conditions of the Node. The conditions themselves count, so it does not matter when the taints
 * follow or whether they are removed. Apps do not use the Pod network. Only a taint that evicts counts nonetheless.
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

/** Reports whether the app tolerates the taint that Kubernetes derives from this condition of a Node. */
export function toleratesCondition(tolerations: Tolerations, condition: string): boolean {
  return tolerates(tolerations, conditionTaint(condition));
}

export function untoleratedPressure(
  tolerations: Tolerations,
  pressures: readonly string[],
): string | undefined {
  return pressures.find((resource) => !toleratesCondition(tolerations, `${resource}-pressure`));
}

export function untoleratedTaint(tolerations: Tolerations, taints: readonly Taint[]): Taint | undefined {
  return taints.find((taint) =>
    taint.effect !== "PreferNoSchedule" && (!derivedTaints.has(taint.key) || evicts(taint)) &&
    !tolerates(tolerations, taint)
  );
}

function conditionTaint(condition: string): Taint {
  return { key: `node.kubernetes.io/${condition}`, effect: "NoSchedule" };
}
