/**
 * Whose turn it is: urgent ones first, each queue in order of arrival, and those that have to wait when their time has come.
 */
import type { Clock } from "./clock.ts";

/** From when on an item is due, and whether it goes before those that are not urgent. */
export interface Turn {
  at: number;
  urgent: boolean;
}

export interface Turns<T> {
  /** Puts an item where it belongs; undefined takes it out. One that is in its queue already keeps its place. */
  put(item: T, turn: Turn | undefined): void;
  remove(item: T): void;
  /** The next item and whether it is urgent; undefined where nothing is due. */
  take(): { item: T; urgent: boolean } | undefined;
  /** How many are due. */
  readonly due: number;
  /** Has `onDue` called at this time at the latest. */
  wakeAt(at: number): void;
  close(): void;
}

/** `onDue` is called when the time of a waiting item has come. */
export function createTurns<T>(clock: Clock, onDue: () => void): Turns<T> {
  const urgent = new Set<T>();
  const routine = new Set<T>();
  const waiting = new Map<T, Turn>();
  let alarm: { at: number; cancel: () => void } | undefined;
  let closed = false;

  const queueOf = (turn: Turn) => turn.urgent ? urgent : routine;
  const remove = (item: T) => {
    urgent.delete(item);
    routine.delete(item);
    waiting.delete(item);
  };
  const enter = (queue: Set<T>, item: T) => {
    if (queue.has(item)) return;
    remove(item);
    queue.add(item);
  };
  const wakeAt = (at: number) => {
    if (closed || alarm && alarm.at <= at) return;
    alarm?.cancel();
    alarm = { at, cancel: clock.after(Math.max(0, at - clock.now()), ring) };
  };
  /** One alarm for all: a thousand waiting apps need no thousand timers. */
  const ring = () => {
    alarm = undefined;
    let next = Infinity;
    for (const [item, turn] of waiting) {
      if (turn.at <= clock.now()) enter(queueOf(turn), item);
      else next = Math.min(next, turn.at);
    }
    if (next < Infinity) wakeAt(next);
    onDue();
  };

  return {
    remove,
    wakeAt,
    put(item, turn) {
      if (closed || !turn) return remove(item);
      if (turn.at <= clock.now()) return enter(queueOf(turn), item);
      remove(item);
      waiting.set(item, turn);
      wakeAt(turn.at);
    },
    take() {
      const queue = urgent.size > 0 ? urgent : routine;
      for (const item of queue) {
        queue.delete(item);
        return { item, urgent: queue === urgent };
      }
      return undefined;
    },
    get due() {
      return urgent.size + routine.size;
    },
    close() {
      closed = true;
      alarm?.cancel();
      for (const list of [urgent, routine, waiting]) list.clear();
    },
  };
}
