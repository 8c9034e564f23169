import { steadyNow } from "../lib/time.ts";

/** The time, and a way to be called later; tests bring their own. */
export interface Clock {
  /** For waits: a machine's clock that is set right by hours must not hold up a report for as long. */
  now(): number;
  /** For what others read. */
  wall(): number;
  /** Calls back after `ms`; the returned function calls it off. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: steadyNow,
  wall: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};
