/**
 * Renews a Lease, the heartbeat that other components check, and decides when that of another client has expired.
 *
 * Guarantees: creates a missing Lease and renews an existing one. If another client writes at the same time, it reads the Lease
 * again and retries. A change of holder is counted in `leaseTransitions`, as in Kubernetes.
 * Caveat: without `review` it takes the Lease from any holder. Leader election must not do that, and checks the holder first.
 */
import type { V1Lease } from "@kubernetes/client-node";
import type { KubeClient } from "./client/client.ts";
import { objectsOf, writeNewest } from "./guarded-write.ts";
import { apiVersionOf, leases } from "./resources.ts";
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
  now?: () => number;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Returns the Lease as the server has it now; undefined if it was left to its holder. */
export async function renewLease(
  client: KubeClient,
  claim: LeaseClaim,
  options: RenewOptions = {},
): Promise<Lease | undefined> {
  const { last, review, now = Date.now, timeoutMs, signal } = options;
  const objects = objectsOf<Lease>(client, leases, { priority: "high", timeoutMs, signal });
  let current: LeaseClaim | undefined = claim;
  return await writeNewest<Lease, Lease | undefined>(last, {
    async read() {
      const found = await objects.read({ namespace: claim.namespace, name: claim.name });
      if (review) current = await review(found);
      return found;
    },
    async write(known) {
      if (!current) return undefined;
      const body = renewed(known, current, now());
      return known ? await objects.replace(body) : await objects.create(body);
    },
    signal,
  });
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

/** Another client's Lease as this process has seen it: the times in it come from another machine's clock, which is not trusted. */
export interface SeenLease {
  readonly holder: string;
  readonly renewTime: string;
  /** Since when it is unchanged, by this process's clock. */
  readonly since: number;
  /** It was seen to change. */
  readonly renews: boolean;
  readonly lastsMs: number;
}

/** How long the Lease of an agent lasts after a renewal; a Lease that is missing, or has no duration, counts for as long. */
export const agentLeaseSeconds = 40;

/** Returns what is known after a look at a Lease at `now`: `before` itself if it has not changed since. */
export function lookAtLease(before: SeenLease | undefined, lease: Lease | undefined, now: number): SeenLease {
  const { holderIdentity: holder = "", renewTime = "", leaseDurationSeconds } = lease?.spec ?? {};
  if (before?.holder === holder && before.renewTime === renewTime) return before;
  const lastsMs = (leaseDurationSeconds || agentLeaseSeconds) * 1000;
  return { holder, renewTime, since: now, renews: before !== undefined, lastsMs };
}

/** Reports whether the Lease was not renewed for longer than it lasts, or than `lastsMs`. */
export function hasExpired({ since, lastsMs: own }: SeenLease, now: number, lastsMs: number = own): boolean {
  return now - since > lastsMs;
}

/** MicroTime requires six digits after the second. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
