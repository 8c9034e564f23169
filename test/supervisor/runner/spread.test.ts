import assert from "node:assert/strict";
import { test } from "node:test";
import { spread } from "../../../src/supervisor/runner/runner.ts";

/** Does the work for so many items, and notes works and waits in their order. */
async function notesOf(count: number, abortAt = Infinity): Promise<(string | number)[]> {
  const notes: (string | number)[] = [];
  const ending = new AbortController();
  const work = (item: number) => {
    notes.push(`item ${item}`);
    if (item === abortAt) ending.abort();
  };
  const items = Array.from({ length: count }, (_, index) => index);
  await spread(items, work, {
    signal: ending.signal,
    withinMs: 1000,
    wait: async (ms) => void notes.push(ms),
  });
  return notes;
}

test("spread() does a few at once, and lets time go by before the next", async () => {
  assert.deepEqual(await notesOf(0), []);
  assert.deepEqual(await notesOf(1), ["item 0"]);
  assert.deepEqual(await notesOf(5), ["item 0", "item 1", "item 2", "item 3", 20, "item 4"]);
});

test("spread() does more at once where there are many, so that the whole keeps its time", async () => {
  const notes = await notesOf(1000);
  const waits = notes.filter((note) => typeof note === "number");
  assert.equal(waits.reduce((sum, ms) => sum + ms, 0), 49 * 20);
  assert.equal(notes.length - waits.length, 1000);
});

test("spread() ends when its signal aborts, whatever is left", async () => {
  assert.deepEqual(await notesOf(9, 1), ["item 0", "item 1"]);
});
