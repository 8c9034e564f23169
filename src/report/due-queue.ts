/** A queue of keys that are due now or later: urgent ones first, each kind in order of arrival. */
import type { Clock } from "./clock.ts";

/** When a key is due; urgent keys go before the others. */
export interface Due {
  at: number;
  urgent: boolean;
}

export interface DueQueue<Key> {
  /** Queues a key; undefined removes it. A key that is due already keeps its place. */
  put(key: Key, due: Due | undefined): void;
  remove(key: Key): void;
  /** Removes and returns the next key that is due, if there is one. */
  take(): { key: Key; urgent: boolean } | undefined;
  /** How many keys are due now. */
  readonly size: number;
  /** Calls `onDue` at this time at the latest. */
  wakeAt(at: number): void;
  close(): void;
}

/** `onDue` is called when a waiting key becomes due. */
export function createDueQueue<Key>(clock: Clock, onDue: () => void): DueQueue<Key> {
  const urgent = new Set<Key>();
  const routine = new Set<Key>();
  const waiting = new Map<Key, Due>();
  let alarm: { at: number; cancel: () => void } | undefined;
  let closed = false;

  const remove = (key: Key) => {
    urgent.delete(key);
    routine.delete(key);
    waiting.delete(key);
  };
  const enter = (key: Key, due: Due) => {
    const queue = due.urgent ? urgent : routine;
    if (queue.has(key)) return;
    remove(key);
    queue.add(key);
  };
  // One timer for all: a thousand waiting apps need no thousand timers.
  const wakeAt = (at: number) => {
    if (closed || alarm && alarm.at <= at) return;
    alarm?.cancel();
    alarm = { at, cancel: clock.after(Math.max(0, at - clock.now()), wake) };
  };
  const wake = () => {
    alarm = undefined;
    let next = Infinity;
    for (const [key, due] of waiting) {
      if (due.at <= clock.now()) enter(key, due);
      else next = Math.min(next, due.at);
    }
    if (next < Infinity) wakeAt(next);
    onDue();
  };

  return {
    remove,
    wakeAt,
    put(key, due) {
      if (closed || !due) return remove(key);
      if (due.at <= clock.now()) return enter(key, due);
      remove(key);
      waiting.set(key, due);
      wakeAt(due.at);
    },
    take() {
      const queue = urgent.size > 0 ? urgent : routine;
      for (const key of queue) {
        queue.delete(key);
        return { key, urgent: queue === urgent };
      }
      return undefined;
    },
    get size() {
      return urgent.size + routine.size;
    },
    close() {
      closed = true;
      alarm?.cancel();
      for (const keys of [urgent, routine, waiting]) keys.clear();
    },
  };
}
