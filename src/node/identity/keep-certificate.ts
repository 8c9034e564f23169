/**
 * Keeps one certificate: requests it when there is none, renews it in time, and when the server rejects it.
 *
 * Guarantees: it is renewed at a random point between 70% and 90% of its life, so that a thousand nodes do not ask together. Both
 * clocks count: one that was set back delays nothing, and one that was set forward renews at once. Whatever fails, the last certificate
 * stays in use, even one that seems expired here: only the server's clock counts. A certificate that cannot be written to the disk is
 * used from memory, and written later. Attempts are at least a second apart, and five minutes if they keep failing.
 */
import { X509Certificate } from "node:crypto";
import { createBackoff } from "../../lib/backoff.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import { isoSeconds, steadyNow } from "../../lib/time.ts";
import type { Outcome } from "./request-certificate.ts";

/** A certificate with its key, as PEM. */
export interface Pair {
  cert: string;
  key: string;
}

export interface CertificateKeeper {
  current(): Pair | undefined;
  /** Why there is no certificate, or no newer one; undefined if all is well. */
  problem(): string | undefined;
  /** The certificate is of no use any more, such as after a 401: gets another one. */
  reject(): void;
  /** What it depends on has changed. */
  look(): void;
  /** Uses what was saved. */
  load(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export interface KeeperOptions {
  /** Such as "client certificate". */
  what: string;
  /** Returns what was saved; undefined if there is nothing usable. */
  load(): Promise<Pair | undefined>;
  save(pair: Pair): Promise<void>;
  /** Requests another one, and says with which key. Throws if that cannot be tried now. */
  request(before: Pair | undefined, signal: AbortSignal): Promise<Outcome & { key: string }>;
  /** Whether it can be requested at all. */
  isPossible?(): boolean;
  /** Whether the certificate still has what it needs, such as the node's addresses. */
  isCurrent?(pair: Pair): boolean;
  onChange?(): void;
  log: Logger;
  random?: () => number;
  now?: () => number;
  steady?: () => number;
}

const lookMs = 60_000;
/** After a write to the disk that failed. */
const saveMs = 5000;

export function createCertificateKeeper(options: KeeperOptions): CertificateKeeper {
  const { what, log, random = Math.random, now = Date.now, steady = steadyNow } = options;
  const backoff = createBackoff({ initialMs: 1000, maxMs: 300_000, jitter: 0.5 });
  let pair: Pair | undefined;
  let due = { wall: -Infinity, steady: -Infinity };
  let unsaved = false;
  let rejected = false;
  let problem: string | undefined = "it was not requested yet";
  let wake = () => {};

  const use = (next: Pair, from: number) => {
    pair = next;
    rejected = false;
    problem = undefined;
    const wall = renewalTime(next.cert, from, random());
    due = { wall, steady: steady() + Math.max(0, wall - now()) };
    options.onChange?.();
  };
  const report = (why: string, level: "info" | "warn" = "warn") => {
    if (why !== problem) log[level](`no ${pair ? "new " : ""}${what} yet`, { why, ...stateOf(pair, now()) });
    problem = why;
  };
  const save = async () => {
    if (!pair || !unsaved) return;
    try {
      await options.save(pair);
      unsaved = false;
    } catch (error) {
      log.warn(`cannot save the ${what}; using it from memory, and trying again`, { error });
    }
  };
  const isDue = () =>
    (options.isPossible?.() ?? true) &&
    (!pair || rejected || now() >= due.wall || steady() >= due.steady ||
      !(options.isCurrent?.(pair) ?? true));

  /** Returns whether there is a new one. */
  const renew = async (signal: AbortSignal): Promise<boolean> => {
    try {
      const outcome = await options.request(pair, signal);
      if ("issued" in outcome) {
        use({ cert: outcome.issued, key: outcome.key }, now());
        unsaved = true;
        await save();
        log.info(`got a ${what}`, { until: isoSeconds(validUntil(outcome.issued)) });
        return true;
      }
      if ("pending" in outcome) report(outcome.pending, "info");
      else report(outcome.refused);
    } catch (error) {
      if (!signal.aborted) report(describeError(error));
    }
    return false;
  };

  return {
    current: () => pair,
    problem: () => problem,
    reject() {
      if (!pair || rejected) return;
      rejected = true;
      wake();
    },
    look: () => wake(),
    async load() {
      try {
        const saved = await options.load();
        // When it was issued is not known any more.
        if (saved) use(saved, -Infinity);
      } catch (error) {
        log.warn(`cannot read the ${what}`, { error });
      }
    },
    async run(signal) {
      while (!signal.aborted) {
        const woken = new AbortController();
        wake = () => woken.abort();
        await save();
        let delay = unsaved ? saveMs : Math.min(lookMs, Math.max(1000, due.wall - now()));
        if (isDue()) {
          const isNew = await renew(signal);
          if (isNew && !isDue()) {
            backoff.reset();
            continue;
          }
          // Signers must not be asked all the time because this clock is wrong.
          if (isNew) report(`the new one seems to be old already: the clock here shows ${isoSeconds(now())}`);
          delay = backoff.next();
        }
        await sleep(delay, AbortSignal.any([signal, woken.signal]));
      }
    },
  };
}

/** Returns when to renew a certificate that is in use since `from`: signers date them back by minutes. `part` is from 0 to 1. Pure. */
export function renewalTime(cert: string, from: number, part: number): number {
  const until = validUntil(cert);
  const start = Math.min(until, Math.max(from, Date.parse(new X509Certificate(cert).validFrom)));
  return start + (until - start) * (0.7 + 0.2 * part);
}

function validUntil(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

function stateOf(pair: Pair | undefined, now: number): Record<string, string> {
  if (!pair) return {};
  const until = validUntil(pair.cert);
  return { [until > now ? "current until" : "expired"]: isoSeconds(until) };
}
