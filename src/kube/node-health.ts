/**
 * Whether a node is alive, by its agent's Lease. Pure.
 *
 * Clocks of other machines are not trusted: what counts is when this scheduler saw the Lease change. Only for a Lease that it has not
 * yet seen renewed, which after a start is every Lease, the time in the Lease counts as well, so that a node that was gone before gets
 * no apps. But a node is lost only after this scheduler has observed its silence for the full time.
 */
import type { Lease } from "./lease.ts";

/** `observed` stands still while the Leases cannot be watched (see ObservedClock), `wall` is the time of day. */
export interface Clocks {
  observed: number;
  wall: number;
}

export interface ObservedLease {
  /** The renew time as the agent wrote it, to detect changes. */
  readonly renewed: string;
  /** When it last changed, by the observed clock. */
  readonly changedAt: number;
  readonly seenRenewed: boolean;
  readonly lastsMs: number;
}

/**
 * `fresh`: it may get apps. `doubtful`: it was silent before this scheduler started; it gets no apps, but keeps its own. `lost`: it has
 * been silent for `lostMs` longer than its Lease lasts.
 */
export type NodeHealth = { state: "fresh" | "doubtful" } | {
  state: "lost";
  silentMs: number;
  lostMs: number;
};

/** For a Lease without a duration. */
const defaultMs = 40_000;

/** Returns what is known after a Lease was received. It lasts for its own duration unless `graceMs` is given. */
export function observeLease(
  before: ObservedLease | undefined,
  { spec }: Lease,
  { observed }: Clocks,
  graceMs?: number,
): ObservedLease {
  const renewed = spec?.renewTime ?? "";
  const lastsMs = graceMs ?? ((spec?.leaseDurationSeconds ?? 0) * 1000 || defaultMs);
  if (!before) return { renewed, changedAt: observed, seenRenewed: false, lastsMs };
  if (before.renewed === renewed) return before;
  return { renewed, changedAt: observed, seenRenewed: true, lastsMs };
}

/** Returns a Lease for a node that has apps but neither a Node nor a Lease: as if it had just been renewed for the last time. */
export function vanishedLease({ observed, wall }: Clocks, graceMs = defaultMs): ObservedLease {
  return {
    renewed: new Date(wall).toISOString(),
    changedAt: observed,
    seenRenewed: false,
    lastsMs: graceMs,
  };
}

/** Undefined if the node never had an agent. */
export function nodeHealth(
  lease: ObservedLease | undefined,
  { observed, wall }: Clocks,
): NodeHealth | undefined {
  if (!lease) return undefined;
  const { renewed, changedAt, seenRenewed, lastsMs } = lease;
  const observedMs = observed - changedAt;
  const claimedMs = seenRenewed ? 0 : wall - (Date.parse(renewed) || 0);
  if (observedMs > lastsMs) {
    const silentMs = Math.max(observedMs, claimedMs);
    return { state: "lost", silentMs, lostMs: silentMs - lastsMs };
  }
  return { state: claimedMs > lastsMs ? "doubtful" : "fresh" };
}
