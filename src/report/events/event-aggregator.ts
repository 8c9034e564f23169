/**
 * Aggregates events: the same event within an hour is counted, and more than ten different messages of one reason within ten
 * minutes are combined. Messages that differ only in a process ID count as the same, and the last one is shown: an app that
 * restarts again and again has one line in `kubectl describe`. No effects.
 *
 * Memory is bounded: when there are too many tallies, the one that was idle the longest is dropped.
 */
import { createHash } from "node:crypto";
import { appKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { safeMessage } from "./safe-message.ts";

export interface EventTarget {
  namespace: string;
  name: string;
  uid: string;
  /** Default: an NCApp. */
  kind?: string;
  apiVersion?: string;
}

export interface EventNews {
  type: "Normal" | "Warning";
  reason: Reason;
  message: string;
  /** When it happened; absent: now. */
  at?: number;
}

/** News as it is counted, whatever its reason. */
export type AnyNews = Omit<EventNews, "reason"> & { reason: string };

/** One Event object and how often it happened. */
export interface Tally {
  readonly target: EventTarget;
  readonly type: string;
  readonly reason: string;
  message: string;
  /** Name of the Event object. */
  name: string;
  firstAt: number;
  lastAt: number;
  count: number;
  /** The count that the server has; 0: the Event does not exist yet. */
  stored: number;
}

export interface Tallies {
  add(target: EventTarget, news: AnyNews): Tally;
  readonly size: number;
}

export interface TallyOptions {
  now: () => number;
  /** Receives a tally that is dropped for newer ones. */
  onDropped: (tally: Tally) => void;
  maxTallies?: number;
}

/** After a longer pause the same event is a new one. API servers delete Events after an hour by default. */
const sameMs = 3_600_000;
/** After a longer pause of a reason its messages are no longer combined. */
const similarMs = 600_000;
const maxSimilar = 10;

export function createTallies({ now, onDropped, maxTallies = 1000 }: TallyOptions): Tallies {
  const tallies = new Map<string, Tally>();
  const similar = new Map<string, { messages: Set<string>; lastAt: number }>();

  let lastTick = 0;

  /** Microseconds, never the same twice: only their names order the Events of one second. */
  const nextTick = (at: number) => lastTick = Math.max(lastTick + 1, Math.floor(at) * 1000);

  const isCombined = (reasonKey: string, message: string) => {
    const known = similar.get(reasonKey);
    const group = known && now() - known.lastAt <= similarMs
      ? known
      : { messages: new Set<string>(), lastAt: 0 };
    group.lastAt = now();
    putLast(similar, reasonKey, group, maxTallies);
    if (group.messages.size >= maxSimilar && !group.messages.has(message)) return true;
    group.messages.add(message);
    return false;
  };

  return {
    get size() {
      return tallies.size;
    },
    add(target, { type, reason, message: text, at = now() }) {
      const message = safeMessage(text);
      const reasonKey = JSON.stringify([appKey(target.namespace, target.name), target.uid, type, reason]);
      const gist = message.replaceAll(/\bprocess \d+/g, "process");
      const combined = isCombined(reasonKey, digest(gist));
      const key = combined ? reasonKey : JSON.stringify([reasonKey, gist]);
      const shown = combined ? safeMessage(`(combined from similar events): ${message}`) : message;
      const known = tallies.get(key);
      const isSame = known && now() - known.lastAt <= sameMs;
      const tally = isSame ? known : newTally(target, { type, reason, message: shown }, at, nextTick(at));
      Object.assign(tally, { message: shown, lastAt: at, count: tally.count + 1 });
      const dropped = putLast(tallies, key, tally, maxTallies);
      if (dropped) onDropped(dropped);
      return tally;
    },
  };
}

function newTally(target: EventTarget, news: Omit<AnyNews, "at">, at: number, tick: number): Tally {
  const unique = `${tick.toString(16)}${digest(JSON.stringify(target)).slice(0, 4)}`;
  const base = target.name.slice(0, 253 - 1 - unique.length).replace(/[^a-z0-9]+$/, "");
  return { target, ...news, name: `${base}.${unique}`, firstAt: at, lastAt: at, count: 0, stored: 0 };
}

/** Moves an entry to the end of a map of bounded size. Returns the entry that it drops at the beginning. */
function putLast<T>(map: Map<string, T>, key: string, value: T, max: number): T | undefined {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return undefined;
  for (const [oldest, dropped] of map) {
    map.delete(oldest);
    return dropped;
  }
  return undefined;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
