/**
 * Writes the state of many keys to the API server. It holds keys, not state: the caller says when a key is due, and writes
 * its newest state then.
 *
 * Guarantees: at most one write in flight per key, and `maxInFlight` for all keys; urgent keys go first, each kind in order of
 * arrival; a change during a write is written after it; a failed write is retried after waits that grow. When writes of
 * several keys fail with no success in between, one write at a time goes out for all keys, after waits that grow.
 * Caveat: states in between may be skipped.
 */
import { KubeError } from "../kube/kube-error.ts";
import type { Backoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { createCircuitBreaker, createRetryBackoff } from "./circuit-breaker.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createDueQueue, type Due } from "./due-queue.ts";

export interface KeyedWriter<Key> {
  /** Asks again when the key is due. Call it with every change of the key's state. */
  schedule(key: Key): void;
  /** Schedules a key that the server has just sent: a retry of it need not wait. */
  scheduleSeen(key: Key): void;
  /** The server answered another request: writes that got no answer are retried. */
  serverAnswered(): void;
  /** The key is gone. A write in flight is not aborted. */
  forget(key: Key): void;
  /** Waits until nothing is due or in flight, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Aborts the writes in flight and starts no more. */
  close(): void;
}

/** `skipped`: the write sent nothing, or its result says nothing about the server. */
export type WriteResult = void | "skipped";

export interface KeyedWriterOptions<Key> {
  /** When the newest state of a key is due; undefined: there is nothing to write. */
  due: (key: Key) => Due | undefined;
  /** Writes the newest state. Throws if the server is unreachable or rejects it; the key is retried while it is due. */
  write: (key: Key, how: { urgent: boolean; signal: AbortSignal }) => Promise<WriteResult>;
  /** What is written, for the log: `status reports`. */
  what: string;
  /** The app that a key belongs to, for the log. Default: the key. */
  appOf?: (key: Key) => string;
  log: Logger;
  /** Writes at the same time. */
  maxInFlight: number;
  clock?: Clock;
  random?: () => number;
}

interface Failure {
  backoff: Backoff;
  retryAt: number;
  /** The server gave no answer at all. */
  unanswered: boolean;
}

export function createKeyedWriter<Key>(options: KeyedWriterOptions<Key>): KeyedWriter<Key> {
  const { due, write, what, appOf = String, log, maxInFlight, clock = systemClock, random } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const breaker = createCircuitBreaker({ clock, log, what, random });
  const queue = createDueQueue<Key>(clock, () => pump());
  const busy = new Set<Key>();
  const failures = new Map<Key, Failure>();
  const flushes = new Set<() => void>();

  const place = (key: Key) => {
    if (busy.has(key)) return;
    const next = due(key);
    const { retryAt = 0 } = failures.get(key) ?? {};
    queue.put(key, next && { ...next, at: Math.max(next.at, retryAt) });
  };

  const pump = () => {
    while (busy.size < maxInFlight && breaker.allows(busy.size)) {
      const next = queue.take();
      if (!next) break;
      void perform(next.key, next.urgent);
    }
    if (queue.size > 0 && breaker.retryAt > clock.now()) queue.wakeAt(breaker.retryAt);
    if (queue.size + busy.size === 0) { for (const finish of flushes) finish(); }
  };

  const perform = async (key: Key, urgent: boolean) => {
    busy.add(key);
    try {
      if (await write(key, { urgent, signal }) !== "skipped") {
        failures.delete(key);
        breaker.succeeded();
      }
    } catch (error) {
      if (!signal.aborted) failed(key, error);
    } finally {
      busy.delete(key);
      if (!signal.aborted) {
        place(key);
        pump();
      }
    }
  };

  const failed = (key: Key, error: unknown) => {
    breaker.failed(appOf(key), error);
    // The caller gave it up.
    if (!due(key)) return void failures.delete(key);
    const { backoff } = failures.get(key) ?? { backoff: createRetryBackoff(random) };
    const unanswered = error instanceof KubeError && error.status === undefined;
    failures.set(key, { backoff, retryAt: clock.now() + backoff.next(), unanswered });
  };

  const retryNow = (key: Key) => {
    const failure = failures.get(key);
    if (failure) Object.assign(failure, { retryAt: 0, unanswered: false });
    place(key);
  };

  return {
    schedule(key) {
      place(key);
      pump();
    },
    scheduleSeen(key) {
      breaker.serverAnswered();
      retryNow(key);
      pump();
    },
    serverAnswered() {
      const unanswered = [...failures].filter(([, failure]) => failure.unanswered);
      if (unanswered.length === 0) return;
      breaker.serverAnswered();
      for (const [key] of unanswered) retryNow(key);
      pump();
    },
    forget(key) {
      failures.delete(key);
      queue.remove(key);
      pump();
    },
    flush(timeoutMs) {
      return new Promise((resolve) => {
        const finish = () => {
          cancel();
          flushes.delete(finish);
          resolve();
        };
        const cancel = clock.after(timeoutMs, finish);
        flushes.add(finish);
        pump();
      });
    },
    close() {
      closing.abort();
      queue.close();
      for (const finish of flushes) finish();
    },
  };
}
