/** Which taints an app tolerates, and for how long, as for Pods. Pure. */
import { group, nodeTaint } from "../api/names.ts";
import type { Toleration } from "../api/types.ts";
import type { Taint } from "./types.ts";

/** Taint keys whose toleration sets how long an app stays bound to a lost node. */
export const unreachableKeys = [`${group}/unreachable`, "node.kubernetes.io/unreachable"] as const;

/** The taint that agents put on their Nodes concerns only Pods, so it is always tolerated. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  if (taint.key === nodeTaint.key && taint.effect === nodeTaint.effect) return true;
  return tolerations.some((toleration) => matches(toleration, taint));
}

/**
 * Returns how long a NoExecute taint is tolerated: the least `tolerationSeconds` of the matching tolerations, as for Pods; Infinity if
 * none has any; undefined if the taint is not tolerated.
 */
export function tolerationMs(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
): number | undefined {
  const matching = tolerations.filter((toleration) => taints.some((taint) => matches(toleration, taint)));
  if (matching.length === 0) return undefined;
  return Math.min(
    ...matching.map(({ tolerationSeconds = Infinity }) => Math.max(0, tolerationSeconds) * 1000),
  );
}

/** Formats a taint as kube-scheduler does. */
export function formatTaint({ key, value = "" }: Taint): string {
  return `{${key}: ${value}}`;
}

function matches(
  { key = "", operator = "Equal", value = "", effect = "" }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}
