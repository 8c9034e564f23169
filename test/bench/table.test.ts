import assert from "node:assert/strict";
import { test } from "node:test";
import { type Figure, isReached, ratioOf } from "../../bench/benchmark.ts";
import { renderTable } from "../../bench/table.ts";

const quick: Figure = {
  figure: "apply → running",
  ours: 40,
  unit: "ms",
  asked: 60,
  peer: { what: "poller", value: 5000 },
  limit: { what: "bare", value: 15 },
};

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
