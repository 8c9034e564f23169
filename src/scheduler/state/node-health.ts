/**
 * Whether a node is alive, by its agent's Lease. Pure.
 *
 * Clocks of other machines are not trusted: what counts is when this scheduler saw the Lease change. Only a Lease that it has never
 * seen renewed, which after a start is every one, is also held against its own time: a node that was gone before gets no app
 * meanwhile. But to call a node lost takes a full silence that was watched from here.
 */
import type { Lease } from "../../kube/lease.ts";

/** `watched` stands still while nothing could be seen (see observedClock.ts), `wall` is the time of day. */
export interface Clocks {
  watched: number;
  wall: number;
}

/** What was seen of an agent's Lease. */
export interface LeaseSeen {
  /** As the agent wrote it, to see it change. */
  readonly renewed: string;
  /** When it changed last, by the watched clock. */
  readonly changedAt: number;
  /** True once it was seen to change. */
  readonly seenRenewed: boolean;
  readonly lastsMs: number;
}

/**
 * `fresh`: it may have apps. `doubtful`: it was silent before this scheduler came; it gets none, and that is all. `lost`: silent for
 * longer than its Lease lasts, by `lostMs`.
 */
export type Health = { state: "fresh" | "doubtful" } | { state: "lost"; silentMs: number; lostMs: number };

/** How long a Lease lasts that does not say. */
const defaultMs = 40_000;

/** What is known after another look at a Lease. It lasts as long as it says, unless `graceMs` says otherwise. */
export function seeLease(
  before: LeaseSeen | undefined,
  { spec }: Lease,
  { watched }: Clocks,
  graceMs?: number,
): LeaseSeen {
  const renewed = spec?.renewTime ?? "";
  const lastsMs = graceMs ?? ((spec?.leaseDurationSeconds ?? 0) * 1000 || defaultMs);
  if (!before) return { renewed, changedAt: watched, seenRenewed: false, lastsMs };
  if (before.renewed === renewed) return before;
  return { renewed, changedAt: watched, seenRenewed: true, lastsMs };
}

/** A node that apps are bound to and that is nowhere to be seen: as if its Lease had just been renewed for the last time. */
export function vanished({ watched, wall }: Clocks, graceMs = defaultMs): LeaseSeen {
  return {
    renewed: new Date(wall).toISOString(),
    changedAt: watched,
    seenRenewed: false,
    lastsMs: graceMs,
  };
}

/** The state of a node; undefined where it never had an agent. */
export function nodeHealth(seen: LeaseSeen | undefined, { watched, wall }: Clocks): Health | undefined {
  if (!seen) return undefined;
  const { renewed, changedAt, seenRenewed, lastsMs } = seen;
  const watchedMs = watched - changedAt;
  const ownMs = seenRenewed ? 0 : wall - (Date.parse(renewed) || 0);
  if (watchedMs > lastsMs) {
    const silentMs = Math.max(watchedMs, ownMs);
    return { state: "lost", silentMs, lostMs: silentMs - lastsMs };
  }
  return { state: ownMs > lastsMs ? "doubtful" : "fresh" };
}
