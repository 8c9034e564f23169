/** Which taints an app tolerates, and for how long, as for Pods. Pure. */
import { group, nodeTaint } from "../names.ts";
import type { Toleration } from "../types.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  /** When it was added; only for NoExecute. */
  readonly since?: number;
}

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

/** Taints that Kubernetes adds to a Node whose kubelet is silent. They evict no app: the agent's own Lease counts. */
const kubeletTaints: readonly string[] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];

/** Reports whether the taint evicts apps that do not tolerate it. */
export function evicts({ effect, key }: Taint): boolean {
  return effect === "NoExecute" && !kubeletTaints.includes(key);
}

/**
 * Finds the taint that evicts an app first, and when; undefined if none does. The tolerated time starts when the taint was added or the
 * app was bound, whichever is later: each is new to the other only then.
 */
export function firstEviction(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
  boundAt = 0,
): { at: number; taint: Taint } | undefined {
  let first: { at: number; taint: Taint } | undefined;
  for (const taint of taints) {
    if (!evicts(taint)) continue;
    const at = Math.max(taint.since ?? 0, boundAt) + (tolerationMs(tolerations, [taint]) ?? 0);
    if (at < (first?.at ?? Infinity)) first = { at, taint };
  }
  return first;
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
