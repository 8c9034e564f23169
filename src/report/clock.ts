import { longestTimerMs } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";

/** The time and timers; tests pass a fake one. */
export interface Clock {
  /** For waits. Setting the machine's clock does not change it, so a correction by hours delays no report. */
  now(): number;
  /** For timestamps that users read. */
  wall(): number;
  /** Calls back after `ms`, at most 24 days; the returned function cancels that. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: steadyNow,
  wall: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), longestTimerMs));
    return () => clearTimeout(timer);
  },
};
