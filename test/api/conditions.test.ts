import assert from "node:assert/strict";
import { test } from "node:test";
import { withTransitionTime } from "../../src/api/conditions.ts";

const before = [
  { type: "Scheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
  { type: "Ready", status: "False", lastTransitionTime: "2026-01-02T00:00:00Z" },
];
const now = "2026-01-03T00:00:00Z";

test("a condition keeps its transition time while its status is unchanged", () => {
  const dated = withTransitionTime({ type: "Ready", status: "False", reason: "Backoff" }, before, now);
  assert.deepEqual(dated, {
    type: "Ready",
    status: "False",
    reason: "Backoff",
    lastTransitionTime: "2026-01-02T00:00:00Z",
  });
});

test("a condition whose status changes, or that is new, gets the current time", () => {
  assert.equal(withTransitionTime({ type: "Ready", status: "True" }, before, now).lastTransitionTime, now);
  assert.equal(withTransitionTime({ type: "New", status: "True" }, before, now).lastTransitionTime, now);
  assert.equal(
    withTransitionTime({ type: "Ready", status: "True" }, undefined, now).lastTransitionTime,
    now,
  );
});

test("a condition of unchanged status without a transition time gets the current time", () => {
  const undated = [{ type: "Ready", status: "True" }];
  assert.equal(withTransitionTime({ type: "Ready", status: "True" }, undated, now).lastTransitionTime, now);
});
