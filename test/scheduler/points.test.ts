import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPoints, formatQuantity, parseQuantity, toPoints } from "../../src/scheduler/points.ts";

test("toPoints() rounds up fractions of a point, and leaves whole points alone", () => {
  assert.deepEqual([0.1, 12.3, 99.999, 100, 33.3333].map(toPoints), [100, 12_300, 99_999, 100_000, 33_334]);
});

test("sums of points are exact", () => {
  const sum = Array.from({ length: 1000 }, () => toPoints(0.1)).reduce((a, b) => a + b);
  assert.equal(sum, toPoints(100));
});

test("formatPoints() omits trailing zeros", () => {
  assert.deepEqual([20_000, 12_500, 1].map(formatPoints), ["20", "12.5", "0.001"]);
});

test("parseQuantity() parses what users and the API server write", () => {
  const texts = ["20", "12.5", "12500m", "1k", "1e2", ".5", 30, "2Ki"];
  assert.deepEqual(texts.map(parseQuantity), [
    20_000,
    12_500,
    12_500,
    1_000_000,
    100_000,
    500,
    30_000,
    2_048_000,
  ]);
  assert.deepEqual([undefined, "", "much", "5 %", "-1"].map(parseQuantity), Array(5).fill(undefined));
});

test("formatQuantity() writes the canonical form of the API server", () => {
  assert.deepEqual([40_000, 12_500, 0].map(formatQuantity), ["40", "12500m", "0"]);
  for (const points of [1, 999, 40_000, 12_345]) assert.equal(parseQuantity(formatQuantity(points)), points);
});
