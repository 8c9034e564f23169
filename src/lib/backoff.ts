/** Delays between attempts that grow until one succeeds. */
export interface Backoff {
  /** Returns the delay before the next attempt, in milliseconds. */
  next(): number;
  /** An attempt succeeded: the next delay is the first one again. */
  reset(): void;
}

export interface BackoffOptions {
  initialMs: number;
  maxMs: number;
  /** The random part of a delay: 0.5 spreads 20 s over 20 to 30 s, so that a thousand agents do not retry together. */
  jitter?: number;
  random?: () => number;
}

/** Every delay is within `initialMs` and `maxMs`, jitter included. */
export function createBackoff(
  { initialMs, maxMs, jitter = 0, random = Math.random }: BackoffOptions,
): Backoff {
  const longestBase = Math.max(initialMs, maxMs / (1 + jitter));
  let base = initialMs;
  return {
    next() {
      const delay = Math.min(base * (1 + jitter * random()), maxMs);
      base = Math.min(base * 2, longestBase);
      return Math.round(delay);
    },
    reset() {
      base = initialMs;
    },
  };
}
