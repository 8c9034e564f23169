/**
 * Holds requests back while the server is in trouble, so that a thousand apps do not ask a dead server a thousand times.
 *
 * Guarantees: when requests about `enough` different apps have failed with no success between, only one at a time goes out,
 * after waits that grow; the first success opens the gate for all. One app that is always refused closes nothing.
 */
import { type Backoff, createBackoff } from "../lib/backoff.ts";
import { describeError, type Logger } from "../lib/log.ts";
import type { Clock } from "./clock.ts";

export interface Gate {
  /** Whether one more may go out beside those in flight. */
  mayPass(inFlight: number): boolean;
  /** When the next one may be tried; in the past while the gate is open. */
  readonly opensAt: number;
  succeeded(): void;
  failed(key: string, error: unknown): void;
  /** The server was heard by other ways: the next try need not wait. */
  heard(): void;
}

export interface GateOptions {
  clock: Clock;
  log: Logger;
  /** What goes through, for the log: `status reports`. */
  what: string;
  enough?: number;
  random?: () => number;
}

/** The wait between tries, of an app and of all: 1 s growing to 30 s, spread so that agents do not return together. */
export function createRetryBackoff(random?: () => number): Backoff {
  return createBackoff({ initialMs: 1000, maxMs: 30_000, jitter: 0.5, random });
}

/** Makes a gate, open. */
export function createGate({ clock, log, what, enough = 3, random }: GateOptions): Gate {
  const backoff = createRetryBackoff(random);
  const failing = new Set<string>();
  let failures = 0;
  let failedAt = 0;
  let opensAt = 0;
  let closed = false;

  const close = (error: unknown) => {
    if (!closed) log.warn(`${what} fail; going on slowly`, { error: describeError(error) });
    closed = true;
    opensAt = clock.now() + backoff.next();
  };
  return {
    get opensAt() {
      return opensAt;
    },
    mayPass: (inFlight) => !closed || inFlight === 0 && clock.now() >= opensAt,
    succeeded() {
      if (closed) log.info(`${what} go through again`, { failed: failures });
      failing.clear();
      backoff.reset();
      failures = 0;
      closed = false;
      opensAt = 0;
    },
    failed(key, error) {
      failing.add(key);
      failures++;
      failedAt = clock.now();
      if (failing.size >= enough) close(error);
      else log.warn(`${what} fail for one app; trying again`, { app: key, error });
    },
    heard() {
      // Where a server answers others and refuses this, a try each second is still enough.
      opensAt = Math.min(opensAt, failedAt + 1000);
    },
  };
}
