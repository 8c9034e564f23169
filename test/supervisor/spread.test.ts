import assert from "node:assert/strict";
import { test } from "node:test";
import { spread } from "../../src/supervisor/spread.ts";

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

test("spread() does the first at once, and lets time go by between the others", async () => {
  assert.deepEqual(await notesOf(0), []);
  assert.deepEqual(await notesOf(1), ["item 0"]);
  assert.deepEqual(await notesOf(3), ["item 0", 5, "item 1", 5, "item 2"]);
});

test("spread() waits less where there are many, so that the whole keeps its time", async () => {
  const waits = (await notesOf(1000)).filter((note) => typeof note === "number");
  assert.equal(waits.length, 999);
  assert.deepEqual(new Set(waits), new Set([1]));
});

test("spread() ends when its signal aborts, whatever is left", async () => {
  assert.deepEqual(await notesOf(9, 1), ["item 0", 5, "item 1", 5]);
});
