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
/** All connections of a listener together. */
export const listenerPace: Readonly<PaceOptions> = { perSecond: 150_000, burst: 960_000 };

const [headersCost, usualCost, smallBytes] = [150, 5, 512];

/** What a frame costs beyond moving its bytes. */
export function costOf(frame: Frame): number {
  if ("block" in frame) return headersCost;
  return frame.type === "data" && frame.bytes.length >= smallBytes ? 0 : usualCost;
}
