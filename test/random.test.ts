import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom, deriveSeed } from "./random.ts";

test("integer() returns both ends of its range and nothing beyond", () => {
  const random = createRandom(1);
  const drawn = new Set(Array.from({ length: 500 }, () => random.integer(-2, 2)));
  assert.deepEqual([...drawn].sort((a, b) => a - b), [-2, -1, 0, 1, 2]);
});

test("below() returns every number up to its limit, and 0 for nothing; one in n is about that", () => {
  const random = createRandom(2);
  assert.deepEqual([...new Set(Array.from({ length: 200 }, () => random.below(3)))].sort(), [0, 1, 2]);
  assert.equal(random.below(0), 0);
  const hits = Array.from({ length: 1000 }, () => random.oneIn(4)).filter(Boolean).length;
  assert.ok(hits > 200 && hits < 300, `${hits} of 1000`);
});

test("shuffle() keeps every item and does not change the list", () => {
  const list = Array.from({ length: 50 }, (_, n) => n);
  const shuffled = createRandom(3).shuffle(list);
  assert.notDeepEqual(shuffled, list);
  assert.deepEqual(shuffled.toSorted((a, b) => a - b), list);
});

test("pick() refuses an empty list, and seeds derived from other parts differ", () => {
  assert.throws(() => createRandom(1).pick([]), /empty list/);
  assert.equal(deriveSeed(1, "step", 2), deriveSeed(1, "step", 2));
  assert.notEqual(deriveSeed(1, "step", 2), deriveSeed(1, "step", 3));
  assert.notEqual(deriveSeed(1, "step", 2), deriveSeed(2, "step", 2));
});
