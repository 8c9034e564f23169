/**
 * The node's heartbeats: the agent's own Lease, which shows schedulers that the node accepts apps, and, for Nodes that the agent
 * registered, the one that Kubernetes itself checks.
 *
 * Guarantees: each is renewed every period, even while the other cannot be written; a failed renewal is retried within a few
 * seconds, before others count the node as lost.
 */
import { agentLease, leaseNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Lease, type LeaseClaim, renewLease } from "../kube/lease.ts";
import { createBackoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";

export interface LeaseKeeper {
  /** Renews the Leases; reports whether all renewals succeeded. */
  renewOnce(signal?: AbortSignal): Promise<boolean>;
  run(signal: AbortSignal): Promise<void>;
}

export interface LeaseKeeperOptions {
  client: KubeClient;
  node: string;
  log: Logger;
  /** Annotations of the agent's Lease, read for each renewal. */
  annotations: () => Record<string, string>;
  /** The Node object, if it is known: Leases are deleted with it. */
  owner: () => { uid: string; registered: boolean } | undefined;
  periodMs?: number;
  seconds?: number;
  now?: () => number;
}

export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { client, node, log, annotations, owner, periodMs = 10_000, seconds = 40, now = Date.now } = options;
  const last = new Map<string, Lease>();

  const renew = async (name: string, claim: Partial<LeaseClaim>, signal?: AbortSignal) => {
    const uid = owner()?.uid;
    const ownerReferences = uid ? [{ apiVersion: "v1", kind: "Node", name: node, uid }] : undefined;
    const whole = { namespace: leaseNamespace, name, holder: node, seconds, ownerReferences, ...claim };
    try {
      const lease = await renewLease(client, whole, { last: last.get(name), now, timeoutMs: 7000, signal });
      last.set(name, lease);
      return true;
    } catch (error) {
      last.delete(name);
      if (!signal?.aborted) {
        log.warn("cannot renew a Lease; trying again", { lease: `${leaseNamespace}/${name}`, error });
      }
      return false;
    }
  };

  const renewOnce = async (signal?: AbortSignal) => {
    const renewals = [renew(agentLease(node), { annotations: annotations() }, signal)];
    if (owner()?.registered) renewals.push(renew(node, {}, signal));
    return (await Promise.all(renewals)).every(Boolean);
  };

  return {
    renewOnce,
    async run(signal) {
      const backoff = createBackoff({ initialMs: 1000, maxMs: 7000, jitter: 0.5 });
      while (!signal.aborted) {
        const startedAt = steadyNow();
        const done = await renewOnce(signal);
        if (done) backoff.reset();
        await sleep(done ? startedAt + periodMs - steadyNow() : backoff.next(), signal);
      }
    },
  };
}
