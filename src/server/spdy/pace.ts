/**
 * A budget of work that refills with time. Who has used it up is told to wait, not refused: what a client does too eagerly takes it
 * longer. Work is counted in microseconds of this machine, roughly.
 */
import { steadyNow } from "../../lib/time.ts";
import type { Frame } from "./frames.ts";

export interface PaceOptions {
  /** What each second adds, and how much may be saved up. */
  perSecond: number;
  burst: number;
  now?: () => number;
}

export class Pace {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor({ perSecond, burst, now = steadyNow }: PaceOptions) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#now = now;
    this.#left = burst;
    this.#at = now();
  }

  /** Spends this much, and returns for how many milliseconds to wait before the work is done. */
  spend(cost: number): number {
    const now = this.#now();
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs) - cost;
    this.#at = now;
    return this.#left >= 0 ? 0 : -this.#left / this.#perMs;
  }
}

/** A connection that opens 1000 pairs of streams at once is not slowed down; one that goes on like that gets a twentieth of a core. */
export const sessionPace: Readonly<PaceOptions> = { perSecond: 50_000, burst: 320_000 };
/** All connections of one holder: a user, or a namespace. */
export const holderPace: Readonly<PaceOptions> = { perSecond: 75_000, burst: 480_000 };
/** All connections of a listener together. */
export const listenerPace: Readonly<PaceOptions> = { perSecond: 150_000, burst: 960_000 };
/** Beyond this, the holder that came first is forgotten, and has a full budget again. */
const maxHolders = 1000;

/** Returns a function that returns the budgets of a holder's connections: its own, which all of them share, and the listener's. */
export function createPaces(
  { holder, listener, now }: { holder: PaceOptions; listener: PaceOptions; now?: () => number } = {
    holder: holderPace,
    listener: listenerPace,
  },
): (name: string) => readonly Pace[] {
  const shared = new Pace({ ...listener, now });
  const holders = new Map<string, Pace>();
  return (name) => {
    const own = holders.get(name) ?? new Pace({ ...holder, now });
    holders.set(name, own);
    const oldest = holders.keys().next().value;
    if (holders.size > maxHolders && oldest !== undefined) holders.delete(oldest);
    return [own, shared];
  };
}

const [headersCost, usualCost] = [150, 5];

export function costOf(frame: Frame): number {
  if ("block" in frame) return headersCost;
  return frame.type === "data" ? costOfData(frame.bytes.length) : usualCost;
}

/**
 * A quarter of what TLS, a copy and a write take: bulk is what streams are for. So a connection moves about 300 MB as fast as it can,
 * then 50 MB a second; a holder 75.
 */
export function costOfData(bytes: number): number {
  return usualCost + bytes / 1024;
}
