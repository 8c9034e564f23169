import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackoff } from "../../src/lib/backoff.ts";

const delays = (backoff: { next(): number }, count: number) =>
  Array.from({ length: count }, () => backoff.next());

test("createBackoff() doubles from the first delay to the last", () => {
  const backoff = createBackoff({ initialMs: 10_000, maxMs: 300_000 });
  assert.deepEqual(delays(backoff, 7), [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test("createBackoff() starts over after reset()", () => {
  const backoff = createBackoff({ initialMs: 800, maxMs: 30_000 });
  delays(backoff, 5);
  backoff.reset();
  assert.equal(backoff.next(), 800);
});

test("createBackoff() spreads delays upward, also when they no longer grow", () => {
  const least = createBackoff({ initialMs: 800, maxMs: 30_000, jitter: 0.5, random: () => 0 });
  const most = createBackoff({ initialMs: 800, maxMs: 30_000, jitter: 0.5, random: () => 1 });
  assert.deepEqual(delays(least, 7), [800, 1600, 3200, 6400, 12_800, 20_000, 20_000]);
  assert.deepEqual(delays(most, 7), [1200, 2400, 4800, 9600, 19_200, 30_000, 30_000]);
});

test("createBackoff() never exceeds the longest delay, even where the first one is as long", () => {
  const backoff = createBackoff({ initialMs: 100, maxMs: 100, jitter: 0.5, random: () => 1 });
  assert.deepEqual(delays(backoff, 2), [100, 100]);
});
