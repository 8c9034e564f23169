/**
 * Leader election by a Lease, as Kubernetes' own components do it.
 *
 * Guarantees: the leader holds the Lease and has renewed it within `renewDeadlineMs` by its own clock. A leader that cannot renew
 * stops before others may take the Lease, since the Lease lasts longer than that. A released Lease is taken at the next attempt.
 * Caveat: a process that was stopped (SIGSTOP, a suspended laptop) resumes in the middle of its work. Call `isLeader` right before
 * each write, and write conditionally as well: no Lease can stop a request that is already on its way.
 */
import { createBackoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";
import type { KubeClient } from "./client/client.ts";
import { objectsOf } from "./guarded-write.ts";
import { hasStatus, KubeError } from "./kube-error.ts";
import { hasExpired, type Lease, type LeaseClaim, lookAtLease, renewed, type SeenLease } from "./lease.ts";
import { leases } from "./resources.ts";

export interface LeaderOptions {
  namespace: string;
  name: string;
  /** Must be unique among the candidates. */
  identity: string;
  log: Logger;
  leaseSeconds?: number;
  renewDeadlineMs?: number;
  retryMs?: number;
  /** A former holder that certainly works no more: its Lease is taken at once. */
  ended?: string;
  now?: () => number;
  /** A clock that is never set, but may stand still while the machine is suspended. */
  steady?: () => number;
}

export interface Leadership {
  /** Aborts when the Lease is lost, or with the signal of `lead`. */
  signal: AbortSignal;
  /** False as soon as another candidate may hold the Lease, and from then on: `signal` aborts with the first false. */
  isLeader(): boolean;
  /** Who held the Lease before and let it expire. */
  readonly predecessor?: string;
}

const releaseMs = 2000;

/** Waits for the Lease, runs `work` while it holds it, and starts over when it is lost; returns when `signal` aborts. */
export async function lead(
  client: KubeClient,
  options: LeaderOptions,
  work: (leadership: Leadership) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { name: lease, identity, log, renewDeadlineMs = 10_000, retryMs = 2000 } = options;
  const candidate = createCandidate(client, options);
  while (!signal.aborted) {
    await acquire(candidate, { lease, log, retryMs }, signal);
    if (signal.aborted) return;
    log.info("leading", { identity, lease });
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    // Whoever is told no may drop its work, so the term ends with that, even if a late renewal succeeds.
    const isLeader = () => {
      if (candidate.renewedAgoMs() >= renewDeadlineMs) stop();
      return !stopping.signal.aborted;
    };
    signal.addEventListener("abort", stop, { once: true });
    const renewing = renewUntilLost(candidate, { log, retryMs, isLeader }, stopping.signal).finally(stop);
    try {
      await work({ signal: stopping.signal, isLeader, predecessor: candidate.predecessor });
    } finally {
      stop();
      signal.removeEventListener("abort", stop);
      await renewing;
      await candidate.release().catch((error) => log.debug("cannot give the Lease back", { error }));
    }
    if (!signal.aborted) log.warn("not leading any more", { identity, lease });
  }
}

interface Candidate {
  /** Tries once to get or renew the Lease; true if it is held now. Throws a KubeError if that is unknown. */
  claim(signal: AbortSignal): Promise<boolean>;
  /** The time since the start of the last successful claim, by whichever clock shows more: one can be set, the other can stand still. */
  renewedAgoMs(): number;
  /** Another candidate that held the Lease at the last claim. */
  readonly rival?: string;
  readonly predecessor?: string;
  release(): Promise<void>;
}

function createCandidate(client: KubeClient, options: LeaderOptions): Candidate {
  const { namespace, name, identity, leaseSeconds = 15, renewDeadlineMs = 10_000 } = options;
  const { ended, now = Date.now, steady = steadyNow } = options;
  const claimed: LeaseClaim = { namespace, name, holder: identity, seconds: leaseSeconds };
  const objects = objectsOf<Lease>(client, leases, { priority: "high", timeoutMs: renewDeadlineMs / 2 });
  /** The Lease as this candidate last wrote it. */
  let own: Lease | undefined;
  /** Another candidate's Lease. */
  let seen: SeenLease | undefined;
  let renewedAt = { wall: -Infinity, steady: -Infinity };
  let rival: string | undefined;
  let predecessor: string | undefined;

  const isTaken = (lease: Lease) => {
    const holder = lease.spec?.holderIdentity;
    if (!holder || holder === identity || holder === ended) return false;
    seen = lookAtLease(seen, lease, steady());
    return !hasExpired(seen, steady());
  };

  return {
    get rival() {
      return rival;
    },
    get predecessor() {
      return predecessor;
    },
    renewedAgoMs: () => Math.max(now() - renewedAt.wall, steady() - renewedAt.steady),
    async claim(signal) {
      const startedAt = { wall: now(), steady: steady() };
      const known = own ?? await objects.read({ namespace, name }, { signal });
      const holder = known?.spec?.holderIdentity || undefined;
      rival = holder === identity ? undefined : holder;
      if (known && isTaken(known)) return false;
      const body = renewed(known, claimed, startedAt.wall);
      try {
        own = await (known ? objects.replace(body, { signal }) : objects.create(body, { signal }));
        if (holder !== identity) predecessor = holder;
        renewedAt = startedAt;
        return true;
      } catch (error) {
        own = undefined;
        // Another candidate wrote at the same time: the next attempt shows which one.
        if (hasStatus(error, 409) || hasStatus(error, 404) && known) return false;
        throw error;
      }
    },
    async release() {
      // A renewal that was aborted midway may have arrived: ask the server.
      const held = own ?? await objects.read({ namespace, name }, { signal: AbortSignal.timeout(releaseMs) });
      own = undefined;
      if (held?.spec?.holderIdentity !== identity) return;
      const body = renewed(held, { ...claimed, seconds: 1 }, now());
      delete body.spec?.holderIdentity;
      await objects.replace(body, { timeoutMs: releaseMs });
    },
  };
}

async function acquire(
  candidate: Candidate,
  { lease, log, retryMs }: { lease: string; log: Logger; retryMs: number },
  signal: AbortSignal,
): Promise<void> {
  const backoff = createBackoff({ initialMs: retryMs, maxMs: retryMs * 1.2, jitter: 0.2 });
  let logged: string | undefined;
  while (!signal.aborted) {
    try {
      if (await candidate.claim(signal)) return;
      const { rival: leader } = candidate;
      if (leader && leader !== logged) log.info("standing by", { leader, lease });
      logged = leader ?? logged;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!signal.aborted) log.warn("cannot ask for the leader's Lease; trying again", { error });
    }
    await sleep(backoff.next(), signal);
  }
}

async function renewUntilLost(
  candidate: Candidate,
  { log, retryMs, isLeader }: { log: Logger; retryMs: number; isLeader: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(retryMs, signal);
    if (signal.aborted) return;
    try {
      // A conflict may come from an own write whose answer was lost; the second claim shows that.
      if (!await candidate.claim(signal) && !await candidate.claim(signal)) return;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!signal.aborted) log.warn("cannot renew the leader's Lease; trying again", { error });
    }
    if (!isLeader()) return;
  }
}
