import assert from "node:assert/strict";
import { test } from "node:test";
import { distribution, growthPerUnit, mean, median, percentile, slope } from "../../bench/statistics.ts";

test("a percentile is one of the values, by nearest rank, in any order", () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at);
  assert.equal(percentile(values, 0.99), 99);
  assert.equal(percentile(values, 0.5), 50);
  assert.equal(percentile(values, 1), 100);
  assert.equal(percentile(values, 0), 1);
});

test("the median and the mean of one value are that value, and sorting does not change the input", () => {
  assert.equal(median([7]), 7);
  assert.equal(mean([7]), 7);
  const values = [3, 1, 2];
  assert.equal(median(values), 2);
  assert.deepEqual(values, [3, 1, 2]);
});

test("the p99 of a few values is the worst of them, not one in the middle", () => {
  assert.equal(percentile([1, 2, 3, 50], 0.99), 50);
});

test("an empty list has no percentile, no mean and no growth", () => {
  assert.throws(() => percentile([], 0.5), /no values/);
  assert.throws(() => mean([]), /no values/);
  assert.throws(() => growthPerUnit([]), /without points/);
});

test("a slope is the growth per unit of work, even through noisy points", () => {
  assert.equal(slope([[0, 10], [100, 12], [200, 14]]), 0.02);
  assert.ok(Math.abs(slope([[0, 10], [100, 13], [200, 13], [300, 16]]) - 0.018) < 1e-9);
  assert.throws(() => slope([[5, 1], [5, 2]]), /one x/);
});

test("linear cost does not grow per unit, quadratic cost does", () => {
  assert.equal(growthPerUnit([[100, 10], [1000, 100]]), 1);
  assert.equal(growthPerUnit([[10, 100], [100, 10_000]]), 10);
});

test("a distribution climbs to 1 over the sorted values", () => {
  assert.deepEqual(distribution([30, 10, 20, 40]), [[10, 0.25], [20, 0.5], [30, 0.75], [40, 1]]);
});
