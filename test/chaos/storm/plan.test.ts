import assert from "node:assert/strict";
import { test } from "node:test";
import { faults } from "./faults/list.ts";
import { planRound } from "./plan.ts";

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
