import { setTimeout as pause } from "node:timers/promises";

/**
 * Waits until `look` returns something other than undefined or false, and returns it; fails with `what` when the time is over. Looks
 * take a fifth of the time at most: on a slow machine they would keep the CPU from what is waited for. The first ones follow each
 * other quickly, since most states are there within milliseconds and unit tests wait thousands of times. The longer it waits, the
 * rarer they become, so that a wait of many seconds costs little more than a short one and ends at most 2% later than it could.
 */
export async function waitFor<T>(
  what: string | (() => string),
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const startedAt = performance.now();
  for (let restMs = 1;; restMs = Math.min(20, 2 * restMs)) {
    const start = performance.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const now = performance.now();
    if (now - startedAt > timeoutMs) {
      throw new Error(`waited ${timeoutMs} ms for: ${typeof what === "string" ? what : what()}`);
    }
    await pause(Math.max(restMs, Math.min(500, (now - startedAt) / 50), Math.min(1000, 4 * (now - start))));
  }
}
