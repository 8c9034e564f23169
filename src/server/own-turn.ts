import { setImmediate } from "node:timers/promises";

let last = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller of this function has: however many ask at once for what takes a while,
 * new requests are looked at between two of them.
 */
export function ownTurn(): Promise<void> {
  return last = last.then(() => setImmediate());
}
