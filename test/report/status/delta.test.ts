import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, NCAppStatus } from "../../../src/api/types.ts";
import { mergeConditions, statusDelta, storedStatus } from "../../../src/report/status/delta.ts";

const ready = (status: Condition["status"], more: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status,
  lastTransitionTime: "2030-01-01T00:00:00Z",
  ...more,
});

test("statusDelta() is the whole status if the server has none", () => {
  assert.deepEqual(statusDelta(undefined, { phase: "Running", ready: false, restarts: 0 }), {
    phase: "Running",
    ready: false,
    restarts: 0,
  });
});

test("statusDelta() removes a field that the app no longer has, and keeps the scheduler's", () => {
  const seen: NCAppStatus = { phase: "Running", pid: 4, nominatedNodeName: "n2" };
  assert.deepEqual(statusDelta(seen, { phase: "Succeeded" }), { phase: "Succeeded", pid: null });
});

test("statusDelta() removes the conditions of the state before, and keeps those of other clients", () => {
  const types = [
    "Audited",
    "Scheduled",
    "Ready",
    "Stalled",
    "Failed",
    "Complete",
    "Suspended",
    "Reconciling",
    "PodShown",
  ];
  const seen = { conditions: types.map((type) => ready("True", { type })) };
  const wanted = { conditions: ["Scheduled", "Ready"].map((type) => ready("True", { type })) };
  const { conditions } = statusDelta(seen, wanted) as { conditions: Condition[] };
  assert.deepEqual(conditions.map(({ type }) => type), ["Audited", "Scheduled", "Ready"]);
});

test("statusDelta() sets nodeName, also to empty, and leaves it alone if the agent says nothing about it", () => {
  assert.deepEqual(statusDelta({ phase: "Running" }, { phase: "Running", nodeName: "a" }), { nodeName: "a" });
  assert.deepEqual(statusDelta({ nodeName: "a" }, { nodeName: "" }), { nodeName: "" });
  assert.deepEqual(statusDelta({}, { nodeName: "" }), { nodeName: "" });
  assert.equal(statusDelta({ nodeName: "" }, { nodeName: "" }), undefined);
  assert.equal(statusDelta({ nodeName: "b" }, {}), undefined);
});

test("statusDelta() treats an empty text or list as absent", () => {
  assert.equal(
    statusDelta({ phase: "Running" }, { phase: "Running", message: "", conditions: [] }),
    undefined,
  );
  assert.equal(statusDelta({ phase: "Running", message: "" }, { phase: "Running" }), undefined);
  assert.deepEqual(statusDelta({ message: "no shell" }, { message: "" }), { message: null });
  assert.deepEqual(statusDelta({}, { conditions: [ready("True", { message: "" })] }), {
    conditions: [ready("True")],
  });
});

test("statusDelta() sends conditions whole, with those of other writers in place", () => {
  const other: Condition = { type: "Audited", status: "True", reason: "ByHand" };
  const seen = [other, ready("False")];
  assert.deepEqual(statusDelta({ conditions: seen }, { conditions: [ready("True")] }), {
    conditions: [other, ready("True")],
  });
});

test("mergeConditions() keeps the time of the last change while the status stays", () => {
  const later = "2030-02-02T00:00:00Z";
  const merge = (status: Condition["status"]) =>
    mergeConditions([ready("True")], [ready(status, { lastTransitionTime: later })], Date.parse(later));
  assert.deepEqual(merge("True"), [ready("True")]);
  assert.deepEqual(merge("False"), [ready("False", { lastTransitionTime: later })]);
});

test("mergeConditions() corrects a time that a wrong clock has set in the future", () => {
  const own = ready("True", { lastTransitionTime: "2026-11-18T04:09:59Z" });
  const seen = ready("True", { lastTransitionTime: "2026-11-19T06:09:15Z" });
  assert.deepEqual(mergeConditions([seen], [own], Date.parse("2026-11-18T04:10:00Z")), [own]);
});

test("mergeConditions() never dates a change before the one that the scheduler recorded", () => {
  const lost = ready("Unknown", { lastTransitionTime: "2026-01-01T02:00:00Z" });
  const back = (own: string, now: string) =>
    mergeConditions([lost], [ready("True", { lastTransitionTime: own })], Date.parse(now))
      .map(({ lastTransitionTime }) => lastTransitionTime);
  assert.deepEqual(back("2026-01-01T01:00:00Z", "2026-01-01T03:00:00Z"), ["2026-01-01T03:00:00Z"]);
  // The node's clock is behind.
  assert.deepEqual(back("2026-01-01T01:00:00Z", "2026-01-01T01:30:00Z"), ["2026-01-01T02:00:00Z"]);
  assert.deepEqual(back("2026-01-01T02:30:00Z", "2026-01-01T03:00:00Z"), ["2026-01-01T02:30:00Z"]);
});

test("mergeConditions() keeps the scheduler's message about a scheduled app", () => {
  const scheduled: Condition = {
    type: "Scheduled",
    status: "True",
    reason: "Bound",
    message: "best of 5 nodes",
  };
  const own: Condition = { type: "Scheduled", status: "True", reason: "Bound" };
  assert.deepEqual(mergeConditions([scheduled], [own]), [scheduled]);
  assert.deepEqual(mergeConditions([{ ...scheduled, status: "False" }], [own]), [own]);
  const edited = mergeConditions([{ ...scheduled, observedGeneration: 2 }], [{
    ...own,
    observedGeneration: 3,
  }]);
  assert.deepEqual(edited, [{ ...scheduled, observedGeneration: 3 }], "kubectl wait needs its generation");
});

test("mergeConditions() drops a condition of the agent's own that no longer holds", () => {
  const limits: Condition = { type: "LimitsEnforced", status: "True" };
  assert.deepEqual(mergeConditions([limits, ready("True")], [ready("True")]), [ready("True")]);
});

test("mergeConditions() finds no difference in order alone", () => {
  const limits: Condition = { type: "LimitsEnforced", status: "True" };
  assert.deepEqual(mergeConditions([limits, ready("True")], [ready("True"), limits]), [
    limits,
    ready("True"),
  ]);
});

test("storedStatus() counts a field that the server dropped as stored, and keeps others' conditions", () => {
  const other: Condition = { type: "Audited", status: "True" };
  const sent: NCAppStatus = {
    phase: "Pending",
    nextRun: "2030-01-01T00:00:00Z",
    conditions: [ready("False")],
  };
  const stored = storedStatus({ phase: "Pending", conditions: [other, ready("False")] }, sent);
  assert.equal(statusDelta(stored, sent), undefined);
  assert.deepEqual(stored.conditions, [other, ready("False")]);
});
