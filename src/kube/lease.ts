/**
 * Renews a Lease: the heartbeat that other components check.
 *
 * Guarantees: creates a missing Lease and renews an existing one. If another client writes at the same time, it reads the Lease
 * again and retries, up to `attempts`. A change of holder is counted in `leaseTransitions`, as in Kubernetes.
 * Caveat: without `review` it takes the Lease from any holder. Leader election must not do that, and checks the holder first.
 */
import type { V1Lease } from "@kubernetes/client-node";
import type { KubeClient, KubeRequest } from "./client/client.ts";
import { hasStatus } from "./kube-error.ts";
import { apiVersionOf, leases, resourcePath } from "./resources.ts";
import type { Wire } from "./wire.ts";

export type Lease = Wire<V1Lease>;

export interface LeaseClaim {
  namespace: string;
  name: string;
  holder: string;
  /** How long it lasts after a renewal. */
  seconds: number;
  /** Written with every renewal; other annotations stay. */
  annotations?: Record<string, string>;
  ownerReferences?: NonNullable<Lease["metadata"]>["ownerReferences"];
}

export interface RenewOptions {
  /** The result of the last renewal: saves reading it. */
  last?: Lease;
  /**
   * Reviews a Lease that this client did not write last, or the lack of one, before it is written. Returns the claim, or undefined
   * to leave the Lease to its holder.
   */
  review?: (found: Lease | undefined) => Promise<LeaseClaim | undefined>;
  attempts?: number;
  now?: () => number;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Returns the Lease as the server has it now; undefined if it was left to its holder. */
export async function renewLease(
  client: KubeClient,
  claim: LeaseClaim,
  options?: Omit<RenewOptions, "review">,
): Promise<Lease>;
export async function renewLease(
  client: KubeClient,
  claim: LeaseClaim,
  options: RenewOptions,
): Promise<Lease | undefined>;
export async function renewLease(
  client: KubeClient,
  claim: LeaseClaim,
  options: RenewOptions = {},
): Promise<Lease | undefined> {
  const { last, review, attempts = 3, now = Date.now, timeoutMs, signal } = options;
  const send = (request: KubeRequest) =>
    client.request<Lease>({ priority: "high", timeoutMs, signal, ...request });
  let known = last;
  for (let attempt = 1;; attempt++) {
    let current: LeaseClaim | undefined = claim;
    if (!known) {
      known = await readLease(send, claim);
      if (review) current = await review(known);
    }
    if (!current) return undefined;
    const body = renewed(known, current, now());
    try {
      return known
        ? await send({ method: "PUT", path: leasePath(claim), body })
        : await send({ method: "POST", path: resourcePath(leases, { namespace: claim.namespace }), body });
    } catch (error) {
      // 409: another client wrote or created it in between; 404: another client deleted it.
      const outdated = hasStatus(error, 409) || known !== undefined && hasStatus(error, 404);
      if (!outdated || attempt >= attempts) throw error;
      known = undefined;
    }
  }
}

/** Returns the Lease as it should be after a renewal at `now`. */
export function renewed(known: Lease | undefined, claim: LeaseClaim, now: number): Lease {
  const { namespace, name, holder, seconds, annotations, ownerReferences } = claim;
  const renewTime = microTime(now);
  const before = known?.spec;
  const sameHolder = before?.holderIdentity === holder;
  return {
    apiVersion: apiVersionOf(leases),
    kind: leases.kind,
    metadata: {
      ...known?.metadata,
      namespace,
      name,
      ...(annotations && { annotations: { ...known?.metadata?.annotations, ...annotations } }),
      ...(ownerReferences && { ownerReferences }),
    },
    spec: {
      ...before,
      holderIdentity: holder,
      leaseDurationSeconds: seconds,
      acquireTime: sameHolder ? before.acquireTime ?? renewTime : renewTime,
      renewTime,
      // A holder that takes a released Lease counts as well, as in Kubernetes.
      leaseTransitions: (before?.leaseTransitions ?? 0) + (before && !sameHolder ? 1 : 0),
    },
  };
}

async function readLease(
  send: (request: KubeRequest) => Promise<Lease>,
  claim: LeaseClaim,
): Promise<Lease | undefined> {
  try {
    return await send({ path: leasePath(claim) });
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

function leasePath({ namespace, name }: LeaseClaim): string {
  return resourcePath(leases, { namespace, name });
}

/** MicroTime requires six digits after the second. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
