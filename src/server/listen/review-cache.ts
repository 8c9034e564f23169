/**
 * Answers of the API server about users, kept for a while.
 *
 * Guarantees: a positive answer counts for two minutes and a negative one for half a minute, also while the server is
 * unreachable. At most 1000 answers of each kind are kept, so that unknown tokens do not displace those of users. The same question is
 * asked once. Few questions are in flight, the others wait, and the peers that cause them take turns (fair-queue.ts): one that sends
 * unknown tokens without end delays only its own. Keys are stored as digests.
 */
import { createHash } from "node:crypto";
import { describeError, type Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";
import { createFairQueue } from "./fair-queue.ts";

export interface ReviewTimes {
  allowedMs?: number;
  /** A steady clock, for the expiry of kept answers. */
  now?: () => number;
}

const maxCached = 1000;
const refusedMs = 30_000;
/** Fewer in flight than the client of the API server has places for such requests: the turns are taken here. */
const bounds = { inFlight: 4, inFlightOfPeer: 2, waiting: 256, waitingOfPeer: 64 };

/** Returns a function that asks, or knows the answer to, the question with this key. `peer` is where the request came from. */
export function createReviewCache<T extends string | object>(
  { log, isPositive, allowedMs = 120_000, now = steadyNow }: ReviewTimes & {
    log: Logger;
    isPositive: (answer: T) => boolean;
  },
): (key: string, ask: () => Promise<T>, peer?: string) => Promise<T | "unavailable"> {
  type Kept = Map<string, { answer: T; until: number }>;
  const [positive, negative]: [Kept, Kept] = [new Map(), new Map()];
  const queue = createFairQueue(bounds);
  const inFlight = new Map<string, Promise<T | "unavailable">>();

  const remember = (key: string, answer: T) => {
    positive.delete(key);
    negative.delete(key);
    const [kept, keptMs] = isPositive(answer) ? [positive, allowedMs] : [negative, refusedMs];
    kept.set(key, { answer, until: now() + keptMs });
    const oldest = kept.keys().next().value;
    if (kept.size > maxCached && oldest !== undefined) kept.delete(oldest);
  };
  const review = async (key: string, ask: () => Promise<T>, peer: string) => {
    try {
      const answer = await queue(peer, ask);
      if (answer === undefined) return "unavailable";
      remember(key, answer);
      return answer;
    } catch (error) {
      log.warn("cannot ask the API server about a user", { why: describeError(error) });
      return "unavailable";
    } finally {
      inFlight.delete(key);
    }
  };
  return async (question, ask, peer = "") => {
    const key = createHash("sha256").update(question).digest("base64");
    const entry = positive.get(key) ?? negative.get(key);
    if (entry && entry.until > now()) return entry.answer;
    const pending = inFlight.get(key);
    if (pending) return await pending;
    const answer = review(key, ask, peer);
    inFlight.set(key, answer);
    return await answer;
  };
}
