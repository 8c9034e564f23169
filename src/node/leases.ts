/**
 * The node's heartbeats: the agent's own Lease, which shows schedulers that the node accepts apps, and, for Nodes that the agent
 * registered, the one that Kubernetes itself checks.
 *
 * Guarantees: each is renewed every period, even while the other cannot be written; a failed renewal is retried within a few
 * seconds, before others count the node as lost. An agent's Lease that another agent renews is left to it, and so is the other one:
 * of two agents with one node name, one acts for the node. A Lease that is missing is created after the Node has been checked:
 * Leases of a deleted Node are deleted with it.
 */
import { agentLease, leaseNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { hasStatus } from "../kube/kube-error.ts";
import {
  agentLeaseSeconds,
  hasExpired,
  type Lease,
  type LeaseClaim,
  lookAtLease,
  renewLease,
  type SeenLease,
} from "../kube/lease.ts";
import { createBackoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";
import { type AgentIdentity, holderName, takeoverMs } from "./holder.ts";

/**
 * Whether this agent may act for its node. `unknown`: the server has not answered yet. `free`: it may, since no other agent does.
 * `taken`: another agent has written the Lease; `renews`: and has renewed it since.
 */
export type Standing =
  | { kind: "unknown" }
  | { kind: "free" }
  | { kind: "taken"; holder: string; renews: boolean };

export interface LeaseRenewer {
  /** Renews the Leases; reports whether all requests succeeded. */
  renewOnce(signal?: AbortSignal): Promise<boolean>;
  /** Renews until the signal aborts; `onRenewal` is called after every attempt. */
  run(signal: AbortSignal, onRenewal?: (done: boolean) => void): Promise<void>;
  readonly standing: Standing;
}

export interface LeaseRenewerOptions {
  client: KubeClient;
  node: string;
  identity: AgentIdentity;
  log: Logger;
  /** Annotations of the agent's Lease, read for each renewal. */
  annotations: () => Record<string, string>;
  /** The Node object, if it is known: Leases are deleted with it. */
  owner: () => { uid: string; registered: boolean } | undefined;
  /** Checks the Node before a missing Lease is created. Never rejects. */
  onMissing?: (signal?: AbortSignal) => Promise<void>;
  onStanding?: (standing: Standing) => void;
  periodMs?: number;
  now?: () => number;
  steady?: () => number;
}

const timeoutMs = 5000;
const longestRetryMs = 4000;

export function createLeaseRenewer(options: LeaseRenewerOptions): LeaseRenewer {
  const { client, node, identity, log, annotations, owner, periodMs = 10_000 } = options;
  const { onMissing, onStanding, now = Date.now, steady = steadyNow } = options;
  const last = new Map<string, Lease>();
  let standing: Standing = { kind: "unknown" };
  /** Another agent's Lease. */
  let seen: SeenLease | undefined;
  let renewing: Promise<boolean> | undefined;

  const stand = (next: Standing) => {
    if (next.kind !== "taken") seen = undefined;
    standing = next;
    onStanding?.(next);
  };

  const judge = (found: Lease): Standing => {
    const looked = lookAtLease(seen, found, steady());
    const { holder, renews, lastsMs } = looked;
    const waitMs = takeoverMs(holder, { identity, leaseMs: lastsMs, periodMs });
    if (waitMs === 0) return { kind: "free" };
    seen = looked;
    return hasExpired(looked, steady(), waitMs) ? { kind: "free" } : { kind: "taken", holder, renews };
  };

  const renew = async (
    name: string,
    own: Pick<LeaseClaim, "holder" | "annotations">,
    review: (found: Lease) => boolean,
    signal?: AbortSignal,
  ) => {
    const claim = (): LeaseClaim => {
      const uid = owner()?.uid;
      const ownerReferences = uid ? [{ apiVersion: "v1", kind: "Node", name: node, uid }] : undefined;
      return { namespace: leaseNamespace, name, seconds: agentLeaseSeconds, ownerReferences, ...own };
    };
    try {
      const lease = await renewLease(client, claim(), {
        last: last.get(name),
        async review(found: Lease | undefined) {
          if (!found) await onMissing?.(signal);
          return !found || review(found) ? claim() : undefined;
        },
        now,
        timeoutMs,
        signal,
      });
      if (lease) last.set(name, lease);
      else last.delete(name);
      return { done: true, held: lease !== undefined };
    } catch (error) {
      last.delete(name);
      if (!signal?.aborted) {
        log.warn("cannot renew a Lease; trying again", { lease: `${leaseNamespace}/${name}`, error });
      }
      return { done: false, held: false, isRefused: hasStatus(error, 403) || hasStatus(error, 404) };
    }
  };

  const renewAgentLease = async (signal?: AbortSignal) => {
    const mayTake = (found: Lease) => {
      const next = judge(found);
      if (next.kind === "taken") stand(next);
      return next.kind !== "taken";
    };
    const own = { holder: holderName(identity), annotations: annotations() };
    const { done, held, isRefused } = await renew(agentLease(node), own, mayTake, signal);
    // Without the permission for Leases nothing can be known about other agents.
    if (held || isRefused && standing.kind === "unknown") stand({ kind: "free" });
    return done;
  };

  const renewBoth = async (signal?: AbortSignal) => {
    const done = await renewAgentLease(signal);
    if (standing.kind === "taken" || !owner()?.registered) return done;
    return (await renew(node, { holder: node }, () => true, signal)).done && done;
  };

  const renewOnce = (signal?: AbortSignal) =>
    renewing ??= renewBoth(signal).finally(() => renewing = undefined);

  return {
    get standing() {
      return standing;
    },
    renewOnce,
    async run(signal, onRenewal) {
      const backoff = createBackoff({ initialMs: 1000, maxMs: longestRetryMs, jitter: 0.5 });
      while (!signal.aborted) {
        const startedAt = steadyNow();
        const done = await renewOnce(signal);
        if (done) backoff.reset();
        onRenewal?.(done);
        const pauseMs = standing.kind === "taken" ? periodMs / 2 : periodMs;
        await sleep(done ? startedAt + pauseMs - steadyNow() : backoff.next(), signal);
      }
    },
  };
}
