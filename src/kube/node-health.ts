/**
 * Whether a node is alive, by its agent's Lease: for all controllers.
 *
 * Clocks of other machines are not trusted: what counts is when this process saw the Lease change. Only for a Lease that it has not
 * yet seen renewed, which after a start is every Lease, the time in the Lease counts as well, so that a node that was gone before gets
 * no apps. But a node is lost only after this process has observed its silence for the full time.
 */
import { hasExpired, type Lease, lookAtLease, type SeenLease } from "./lease.ts";

/** `observed` stands still while the Leases cannot be watched (see ObservedClock), `wall` is the time of day. */
export interface Clocks {
  observed: number;
  wall: number;
}

/**
 * `fresh`: it may get apps. `doubtful`: it was silent before this process started; it gets no apps, but keeps its own. `lost`: it has
 * been silent for `lostMs` longer than its Lease lasts.
 */
export type NodeHealth = { state: "fresh" | "doubtful" } | {
  state: "lost";
  silentMs: number;
  lostMs: number;
};

/** The Leases of agents, by node. Each lasts for its own duration unless `graceMs` is given. */
export class NodeLeases {
  readonly #leases = new Map<string, SeenLease>();
  readonly #clocks: () => Clocks;
  readonly #graceMs?: number;

  constructor(clocks: () => Clocks, graceMs?: number) {
    this.#clocks = clocks;
    this.#graceMs = graceMs;
  }

  get nodes(): string[] {
    return [...this.#leases.keys()];
  }

  /** Reports whether the Lease is new or was renewed. */
  apply(node: string, lease: Lease): boolean {
    const before = this.#leases.get(node);
    const seen = lookAtLease(before, lease, this.#clocks().observed);
    this.#leases.set(node, seen);
    return seen !== before;
  }

  /** For a node that has apps but neither a Node nor a Lease: as if it had just been renewed for the last time. */
  vanish(node: string): void {
    const { observed, wall } = this.#clocks();
    this.#leases.set(
      node,
      lookAtLease(undefined, { spec: { renewTime: new Date(wall).toISOString() } }, observed),
    );
  }

  delete(node: string): void {
    this.#leases.delete(node);
  }

  /** Undefined if the node never had an agent. */
  health(node: string): NodeHealth | undefined {
    const lease = this.#leases.get(node);
    if (!lease) return undefined;
    const lastsMs = this.#graceMs ?? lease.lastsMs;
    const { observed, wall } = this.#clocks();
    const claimedMs = lease.renews ? 0 : wall - (Date.parse(lease.renewTime) || 0);
    if (hasExpired(lease, observed, lastsMs)) {
      const silentMs = Math.max(observed - lease.since, claimedMs);
      return { state: "lost", silentMs, lostMs: silentMs - lastsMs };
    }
    return { state: claimedMs > lastsMs ? "doubtful" : "fresh" };
  }
}
