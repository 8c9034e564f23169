/**
 * Answers of the API server about users, kept for a while.
 *
 * Guarantees: a positive answer counts for two minutes and a negative one for half a minute, also while the server is
 * unreachable. At most 1000 answers are kept, and 16 questions are in flight; the same question is asked once. Keys are stored as digests.
 */
import { createHash } from "node:crypto";
import { describeError, type Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";

export interface ReviewTimes {
  allowedMs?: number;
  refusedMs?: number;
  /** A steady clock, for the expiry of kept answers. */
  now?: () => number;
}

const maxCached = 1000;
const maxInFlight = 16;

/** Returns a function that asks, or knows the answer to, the question with this key. */
export function createReviewCache<T>(
  { log, isPositive, allowedMs = 120_000, refusedMs = 30_000, now = steadyNow }: ReviewTimes & {
    log: Logger;
    isPositive: (answer: T) => boolean;
  },
): (key: string, ask: () => Promise<T>) => Promise<T | "unavailable"> {
  const known = new Map<string, { answer: T; until: number }>();
  const inFlight = new Map<string, Promise<T | "unavailable">>();

  const remember = (key: string, answer: T) => {
    known.delete(key);
    known.set(key, { answer, until: now() + (isPositive(answer) ? allowedMs : refusedMs) });
    const oldest = known.keys().next().value;
    if (known.size > maxCached && oldest !== undefined) known.delete(oldest);
  };
  const review = async (key: string, ask: () => Promise<T>) => {
    try {
      const answer = await ask();
      remember(key, answer);
      return answer;
    } catch (error) {
      log.warn("cannot ask the API server about a user", { why: describeError(error) });
      return "unavailable";
    } finally {
      inFlight.delete(key);
    }
  };
  return async (question, ask) => {
    const key = createHash("sha256").update(question).digest("base64");
    const entry = known.get(key);
    if (entry && entry.until > now()) return entry.answer;
    const pending = inFlight.get(key);
    if (pending) return await pending;
    if (inFlight.size >= maxInFlight) return "unavailable";
    const answer = review(key, ask);
    inFlight.set(key, answer);
    return await answer;
  };
}
