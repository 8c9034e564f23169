/**
 * Throttles requests while the server fails, so that a thousand apps do not send a thousand requests to a dead server.
 *
 * Guarantees: when requests about `threshold` different apps have failed with no success in between, only one at a time goes
 * out, after waits that grow; the first success ends this for all. One app that is always refused does not trip it.
 */
import { type Backoff, createBackoff } from "../lib/backoff.ts";
import { describeError, type Logger } from "../lib/log.ts";
import type { Clock } from "./clock.ts";

export interface CircuitBreaker {
  /** Reports whether one more request may go out beside those in flight. */
  allows(inFlight: number): boolean;
  /** When the next request may go out; in the past while requests are not throttled. */
  readonly retryAt: number;
  succeeded(): void;
  failed(app: string, error: unknown): void;
  /** The server answered another request: the next one need not wait out the backoff. */
  serverAnswered(): void;
}

export interface CircuitBreakerOptions {
  clock: Clock;
  log: Logger;
  what: string;
  random?: () => number;
}

/** One app that is always refused does not throttle the others. */
const threshold = 3;

/** The wait between retries, of one app and of all: 1 s growing to 30 s, spread so that agents do not return together. */
export function createRetryBackoff(random?: () => number): Backoff {
  return createBackoff({ initialMs: 1000, maxMs: 30_000, jitter: 0.5, random });
}

export function createCircuitBreaker({ clock, log, what, random }: CircuitBreakerOptions): CircuitBreaker {
  const backoff = createRetryBackoff(random);
  const failing = new Set<string>();
  let failures = 0;
  let failedAt = 0;
  let retryAt = 0;
  let tripped = false;

  const trip = (error: unknown) => {
    if (!tripped) log.warn(`${what} fail; slowing down`, { error: describeError(error) });
    tripped = true;
    retryAt = clock.now() + backoff.next();
  };
  return {
    get retryAt() {
      return retryAt;
    },
    allows: (inFlight) => !tripped || inFlight === 0 && clock.now() >= retryAt,
    succeeded() {
      if (tripped) log.info(`${what} succeed again`, { failed: failures });
      failing.clear();
      backoff.reset();
      failures = 0;
      tripped = false;
      retryAt = 0;
    },
    failed(app, error) {
      failing.add(app);
      failures++;
      failedAt = clock.now();
      if (failing.size >= threshold) trip(error);
      else log.warn(`${what} fail for one app; retrying`, { app, error });
    },
    serverAnswered() {
      // A server that answers others and refuses these requests gets one a second at most.
      retryAt = Math.min(retryAt, failedAt + 1000);
    },
  };
}
