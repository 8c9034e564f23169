export interface ObservedClock {
  /** Milliseconds in which the scheduler was looking. */
  now(): number;
  /** To be called again and again: the time since the last call counts if `looking`. */
  tick(looking: boolean): void;
}

/**
 * A clock that runs only while the scheduler can see: not while the API server is out of reach, nor while this process or machine
 * was stopped. By it a silence of nodes is measured, so that one's own blindness is never taken for theirs.
 */
export function createObservedClock(
  { now = Date.now, longestStepMs = 3000 }: { now?: () => number; longestStepMs?: number } = {},
): ObservedClock {
  let attended = 0;
  let last = now();
  return {
    now: () => attended,
    tick(looking) {
      const elapsed = now() - last;
      last = now();
      // A longer step means that this process did not run in between.
      if (looking && elapsed > 0) attended += Math.min(elapsed, longestStepMs);
    },
  };
}
