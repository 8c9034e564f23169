export interface TokenBuckets {
  /** When the next token of this bucket is available; in the past if there is one now. */
  nextAt(key: string): number;
  /** Takes a token. Call it only if one is available. */
  take(key: string): void;
}

/**
 * Creates a token bucket per key: `burst` tokens at first, then one every `refillMs`. A bucket that is full again is dropped,
 * so memory follows the keys in use.
 */
export function createTokenBuckets(
  { burst, refillMs, now }: { burst: number; refillMs: number; now: () => number },
): TokenBuckets {
  // A bucket as one number: the time at which it is full again.
  const fullAt = new Map<string, number>();
  const spanMs = (burst - 1) * refillMs;

  const forgetFull = () => {
    for (const [key, at] of fullAt) if (at <= now()) fullAt.delete(key);
  };
  return {
    nextAt: (key) => (fullAt.get(key) ?? 0) - spanMs,
    take(key) {
      if (!fullAt.has(key) && fullAt.size % 256 === 255) forgetFull();
      fullAt.set(key, Math.max(fullAt.get(key) ?? 0, now()) + refillMs);
    },
  };
}
