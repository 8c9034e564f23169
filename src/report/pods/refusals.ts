/**
 * What the API server refuses (403), and when it is asked again. No effects.
 *
 * A server that has just started refuses for moments what it allows, so the next attempt comes after 1, 2, 4 … seconds. What Pod Security,
 * a quota or the namespace refuses, it refuses until an administrator changes that: the next attempt comes after five minutes.
 */
import type { Reason } from "../../api/reasons.ts";
import { splitAppKey } from "../../api/names.ts";
import { type Backoff, createBackoff } from "../../lib/backoff.ts";
import { describeError } from "../../lib/log.ts";
import type { Clock } from "../clock.ts";
import type { PodAction } from "./pod-plan.ts";

export interface Refusal {
  reason: Extract<Reason, "PodSecurity" | "QuotaExceeded" | "NamespaceWithoutPods" | "PodForbidden">;
  message: string;
  /** When the first of these refusals came. */
  since: number;
  retryAt: number;
  /** The namespace is being deleted: nothing is wrong. */
  isEnding: boolean;
  backoff: Backoff;
}

const settledMs = 300_000;
/** A namespace that is being deleted takes no new objects. */
const endingMs = 10_000;
const retry = { initialMs: 1000, maxMs: 30_000 };
/** What a server that starts refuses by mistake, it allows within this time. */
const briefMs = 60_000;

export class Refusals {
  readonly #known = new Map<string, Refusal>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what is refused to the app with this key. Some rules judge each Pod by itself, others the namespace. */
  of(key: string, kind: PodAction["kind"]): Refusal | undefined {
    return this.#known.get(`${kind} ${key}`) ?? this.#known.get(`${kind} ${splitAppKey(key).namespace}`);
  }

  /** Returns the refusal, and whether it is new. */
  add(key: string, kind: PodAction["kind"], error: unknown): { refusal: Refusal; isNew: boolean } {
    const message = describeError(error);
    const reason = reasonOf(message);
    const isEnding = /because it is being terminated/.test(message);
    const isOfApp = /violates PodSecurity|failed quota/.test(message);
    const place = `${kind} ${isOfApp ? key : splitAppKey(key).namespace}`;
    const before = this.#known.get(place);
    const { since = this.#clock.wall(), backoff = createBackoff(retry) } = before ?? {};
    const pause = isEnding ? endingMs : reason === "PodForbidden" ? backoff.next() : settledMs;
    const retryAt = this.#clock.now() + pause;
    const refusal = { reason, message, since, retryAt, isEnding, backoff };
    this.#known.set(place, refusal);
    return { refusal, isNew: before?.reason !== reason };
  }

  /** The server allowed it. */
  remove(key: string, kind: PodAction["kind"]): void {
    for (const place of [key, splitAppKey(key).namespace]) this.#known.delete(`${kind} ${place}`);
  }

  /** The app is gone. */
  forget(key: string): void {
    for (const kind of ["create", "delete", "update", "report"]) this.#known.delete(`${kind} ${key}`);
  }

  /** Returns what users of the app should know: not the moments after a start of the server. */
  worthSaying(key: string): Refusal | undefined {
    const refusal = this.of(key, "create");
    if (!refusal || refusal.isEnding) return undefined;
    const isBrief = refusal.reason === "PodForbidden" && this.#clock.wall() - refusal.since < briefMs;
    return isBrief ? undefined : refusal;
  }
}

function reasonOf(message: string): Refusal["reason"] {
  if (/violates PodSecurity/.test(message)) return "PodSecurity";
  if (/shows no app as a Pod in a namespace/.test(message)) return "NamespaceWithoutPods";
  return /(exceeded|failed) quota/.test(message) ? "QuotaExceeded" : "PodForbidden";
}
