/** Turns of the event loop, for work that could keep it from everything else. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long the work of all callers of `nextSlice` may take in one turn. */
const sliceMs = 2;

let lastTurn = Promise.resolve();
let sliceEnds: number | undefined;

/**
 * Resolves in a turn of the event loop that no other caller of this function has: however many large answers are requested at once,
 * new requests are handled between two of them.
 */
export function ownTurn(): Promise<void> {
  return lastTurn = lastTurn.then(() => nextTurn());
}

/**
 * To be called between small pieces of work: undefined while they have taken little time in this turn, those of all callers together;
 * else a promise that resolves in a turn of the caller's own. So the loop is never kept for longer, however many callers there are.
 */
export function nextSlice(): Promise<void> | undefined {
  const now = performance.now();
  if (sliceEnds === undefined) {
    sliceEnds = now + sliceMs;
    setImmediate(() => sliceEnds = undefined);
  }
  return now < sliceEnds ? undefined : ownTurn();
}
