export interface ObservedClock {
  /** Milliseconds during which the Leases could be watched. */
  now(): number;
  /** Called periodically: the time since the last call counts if `observing`. */
  tick(observing: boolean): void;
}

/** Far longer than the period of `tick`: a longer step means that this process was suspended. */
const longestStepMs = 3000;

/**
 * A clock that runs only while the Leases can be watched: not while the API server is unreachable, nor while this process or machine
 * is suspended. It measures the silence of nodes, so that a problem of the scheduler is not mistaken for the loss of nodes.
 */
export function createObservedClock(now: () => number = Date.now): ObservedClock {
  let observed = 0;
  let last = now();
  return {
    now: () => observed,
    tick(observing) {
      const elapsed = now() - last;
      last = now();
      if (observing && elapsed > 0) observed += Math.min(elapsed, longestStepMs);
    },
  };
}
