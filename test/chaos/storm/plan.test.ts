import assert from "node:assert/strict";
import { test } from "node:test";
import { faults } from "./faults/list.ts";
import { planRound } from "./plan.ts";
import { createRandom, deriveSeed } from "./random.ts";

const shape = { stepsPerRound: 7, spanMs: 12_000 };
const rounds = (seed: number, count = 6) =>
  Array.from({ length: count }, (_, round) => planRound(seed, round, faults, shape));

test("the same seed plans the same faults, times and choices; another seed plans others", () => {
  assert.deepEqual(rounds(7), rounds(7));
  assert.notDeepEqual(rounds(7), rounds(8));
});

test("a round does not depend on the rounds before it", () => {
  assert.deepEqual(planRound(7, 3, faults, shape), rounds(7)[3]);
});

test("every fault comes once before any comes again", () => {
  const size = faults.reduce((sum, { weight }) => sum + weight, 0);
  const deck = planRound(7, 0, faults, { stepsPerRound: size, spanMs: 1 });
  const counts = Object.groupBy(deck, ({ fault }) => fault);
  for (const { name, weight } of faults) assert.equal(counts[name]?.length, weight, name);
});

test("steps start within the span of their round, in order, each with its own seed", () => {
  const steps = rounds(7, 20).flat();
  assert.equal(new Set(steps.map(({ seed }) => seed)).size, steps.length);
  for (const round of rounds(7, 20)) {
    const times = round.map(({ atMs }) => atMs);
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert.ok(times.every((ms) => ms >= 0 && ms <= shape.spanMs));
  }
});

test("no two faults have the same name", () => {
  assert.equal(new Set(faults.map(({ name }) => name)).size, faults.length);
});

test("integer() returns both ends of its range and nothing beyond", () => {
  const random = createRandom(1);
  const drawn = new Set(Array.from({ length: 500 }, () => random.integer(-2, 2)));
  assert.deepEqual([...drawn].sort((a, b) => a - b), [-2, -1, 0, 1, 2]);
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
