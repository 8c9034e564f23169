/** Which taints an app bears, and for how long, as for Pods. Pure. */
import { group, nodeTaint } from "../api/names.ts";
import type { Toleration } from "../api/types.ts";
import type { Taint } from "./types.ts";

/** Keys under which people may say how long a lost node is borne. */
export const unreachableKeys = [`${group}/unreachable`, "node.kubernetes.io/unreachable"] as const;

/** True where one toleration bears the taint. The taint that agents put on their Nodes is meant for Pods alone. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  if (taint.key === nodeTaint.key && taint.effect === nodeTaint.effect) return true;
  return tolerations.some((toleration) => bears(toleration, taint));
}

/**
 * How long a NoExecute taint is borne: the least of the tolerations that have seconds, as the API has it; Infinity where none has;
 * undefined where none bears the taint at all.
 */
export function tolerationMs(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
): number | undefined {
  const matching = tolerations.filter((toleration) => taints.some((taint) => bears(toleration, taint)));
  if (matching.length === 0) return undefined;
  return Math.min(
    ...matching.map(({ tolerationSeconds = Infinity }) => Math.max(0, tolerationSeconds) * 1000),
  );
}

/** A taint as kube-scheduler's messages show it. */
export function formatTaint({ key, value = "" }: Taint): string {
  return `{${key}: ${value}}`;
}

function bears({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: Taint): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}
