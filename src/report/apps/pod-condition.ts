/** The condition PodShown of an app whose namespace refuses its Pod; others do not have it. Pure. */
import type { NCApp, NCAppStatus } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { Pods } from "../pods/pods.ts";

type Refusal = NonNullable<ReturnType<Pods["refusalOf"]>>;

export function addRefusal(
  status: NCAppStatus,
  refusal: Refusal | undefined,
  { metadata: { generation } }: Pick<NCApp, "metadata">,
): NCAppStatus {
  if (!refusal) return status;
  const condition = {
    type: "PodShown",
    status: "False",
    reason: refusal.reason,
    message: sayRefusal(refusal),
    lastTransitionTime: isoSeconds(refusal.since),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  } as const;
  return { ...status, conditions: [...status.conditions ?? [], condition] };
}

export function sayRefusal({ message }: Refusal): string {
  return `the app runs, but without a Pod, so that kubectl logs, kubectl exec and Services do not find it: ${message}`;
}
