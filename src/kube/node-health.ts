/**
 * Whether a node is alive, by its agent's Lease: for all controllers.
 *
 * Clocks of other machines are not trusted: what counts is when this process saw the Lease change. Only for a Lease that it has not
 * yet seen renewed, which after a start is every Lease, the time in the Lease counts as well, so that a node that was gone before gets
 * no apps. But a node is lost only after this process has observed its silence for the full time.
 */
import type { Lease } from "./lease.ts";

/** `observed` stands still while the Leases cannot be watched (see ObservedClock), `wall` is the time of day. */
export interface Clocks {
  observed: number;
  wall: number;
}

interface ObservedLease {
  /** The renew time as the agent wrote it, to detect changes. */
  readonly renewed: string;
  /** When it last changed, by the observed clock. */
  readonly changedAt: number;
  readonly seenRenewed: boolean;
  readonly lastsMs: number;
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

/** For a Lease without a duration. */
const defaultMs = 40_000;

/** The Leases of agents, by node. Each lasts for its own duration unless `graceMs` is given. */
export class NodeLeases {
  readonly #leases = new Map<string, ObservedLease>();
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
  apply(node: string, { spec }: Lease): boolean {
    const before = this.#leases.get(node);
    const renewed = spec?.renewTime ?? "";
    if (before?.renewed === renewed) return false;
    const lastsMs = this.#graceMs ?? ((spec?.leaseDurationSeconds ?? 0) * 1000 || defaultMs);
    const changedAt = this.#clocks().observed;
    this.#leases.set(node, { renewed, changedAt, seenRenewed: before !== undefined, lastsMs });
    return true;
  }

  /** For a node that has apps but neither a Node nor a Lease: as if it had just been renewed for the last time. */
  vanish(node: string): void {
    const { observed, wall } = this.#clocks();
    const [renewed, lastsMs] = [new Date(wall).toISOString(), this.#graceMs ?? defaultMs];
    this.#leases.set(node, { renewed, changedAt: observed, seenRenewed: false, lastsMs });
  }

  delete(node: string): void {
    this.#leases.delete(node);
  }

  /** Undefined if the node never had an agent. */
  health(node: string): NodeHealth | undefined {
    const lease = this.#leases.get(node);
    if (!lease) return undefined;
    const { renewed, changedAt, seenRenewed, lastsMs } = lease;
    const { observed, wall } = this.#clocks();
    const observedMs = observed - changedAt;
    const claimedMs = seenRenewed ? 0 : wall - (Date.parse(renewed) || 0);
    if (observedMs > lastsMs) {
      const silentMs = Math.max(observedMs, claimedMs);
      return { state: "lost", silentMs, lostMs: silentMs - lastsMs };
    }
    return { state: claimedMs > lastsMs ? "doubtful" : "fresh" };
  }
}
