import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeTrend, type Point, robustSlope } from "../../bench/endurance/trend.ts";

const line = (count: number, value: (at: number) => number): Point[] =>
  Array.from({ length: count }, (_, at) => [at * 5, value(at)]);

test("robustSlope() returns the slope of a line, whatever a third of its points are", () => {
  const wild = line(60, (at) => at % 4 === 0 ? 10_000 * (at % 3) : 100 + 2 * at * 5);
  assert.equal(robustSlope(line(10, (at) => 7 + 3 * at * 5)), 3);
  assert.ok(Math.abs(robustSlope(wild) - 2) < 1);
});

test("robustSlope() refuses points that share one time", () => {
  assert.throws(() => robustSlope([[1, 1], [1, 2]]), /no slope/);
});

test("judgeTrend() calls a figure that goes up and down flat", () => {
  const { flat, median } = judgeTrend(line(100, (at) => 50 + (at % 7)));
  assert.equal(flat, true);
  assert.equal(median, 53);
});

test("judgeTrend() allows a figure to grow in the first half", () => {
  assert.equal(judgeTrend(line(100, (at) => Math.min(at, 40))).flat, true);
});

test("judgeTrend() detects a slow leak under noise", () => {
  const { flat, perHour } = judgeTrend(line(360, (at) => 60 + (at % 9) + at * 5 * 0.01));
  assert.equal(flat, false);
  assert.ok(Math.abs(perHour - 36) < 2, `${perHour} an hour`);
});

test("judgeTrend() calls a figure flat that falls, or that grows less than the floor", () => {
  assert.equal(judgeTrend(line(100, (at) => 1000 - at)).flat, true);
  assert.equal(judgeTrend(line(100, (at) => 1 + at * 0.01), { floor: 2 }).flat, true);
});

test("judgeTrend() refuses too few readings", () => {
  assert.throws(() => judgeTrend([[0, 1], [5, 1]]), /too few/);
});
