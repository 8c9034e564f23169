import assert from "node:assert/strict";
import { test } from "node:test";
import { type Figure, isReached, ratioOf } from "../../bench/benchmark.ts";
import { formatNumber, formatTick, formatValue } from "../../bench/format.ts";
import { renderNotes, renderTable } from "../../bench/table.ts";

const quick: Figure = {
  figure: "apply → running",
  ours: 40,
  unit: "ms",
  asked: 60,
  peer: { what: "poller", value: 5000 },
  limit: { what: "bare", value: 15 },
};

test("a row has figure, ours, peer, ratio and limit, in columns of equal width", () => {
  const lines = [
    "| figure                                 | ours    | peer              | ratio | limit          |",
    "| -------------------------------------- | ------- | ----------------- | ----- | -------------- |",
    "| apply → running (asked: under 60.0 ms) | 40.0 ms | 5,000 ms (poller) | 125 × | 15.0 ms (bare) |",
  ];
  assert.deepEqual(renderTable([quick]).split("\n"), lines);
});

test("the table marks a figure that misses its target, and one that could not be measured", () => {
  const slow = renderTable([{ ...quick, ours: 81 }]);
  assert.match(slow, /81\.0 ms ✗/);
  assert.match(renderTable([{ figure: "x", unit: "ms", note: "no root" }]), /\| x +\| not measured \|/);
});

test("the ratio is above 1 if ours is ahead, whichever direction is good", () => {
  assert.equal(ratioOf(quick), 125);
  assert.equal(ratioOf({ ...quick, better: "higher" }), 40 / 5000);
  assert.equal(ratioOf({ ...quick, ours: undefined }), undefined);
  assert.equal(ratioOf({ ...quick, ours: 0 }), undefined);
});

test("a target is the maximum of a cost and the minimum of a rate", () => {
  assert.equal(isReached(quick), true);
  assert.equal(isReached({ ...quick, better: "higher" }), false);
  assert.equal(isReached({ ...quick, asked: undefined }), undefined);
});

test("a pipe in a name does not break the table", () => {
  assert.match(renderTable([{ ...quick, figure: "a | b" }]), /a \\\| b/);
});

test("the table prints each note once, with its figure", () => {
  const noted = { ...quick, note: "stamped by date" };
  assert.equal(renderNotes([noted, quick, noted]), "- apply → running: stamped by date");
  assert.equal(renderNotes([quick]), "");
});

test("numbers have three significant digits", () => {
  const shown = [0, 0.01234, 0.5, 4.567, 45.67, 456.7, 1234, 98_765].map(formatNumber);
  assert.deepEqual(shown, ["0", "0.0123", "0.500", "4.57", "45.7", "457", "1,230", "98,800"]);
  assert.equal(formatValue(12, "%"), "12.0%");
  assert.equal(formatValue(3, ""), "3.00");
  assert.deepEqual([0, 0.2, 50, 2500, 100_000].map(formatTick), ["0", "0.2", "50", "2,500", "100,000"]);
});
