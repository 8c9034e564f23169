import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, NCAppStatus } from "../../src/api/types.ts";
import { mergeConditions, mergePatch, statusDelta, storedStatus } from "../../src/report/delta.ts";
import { applyMergePatch } from "./fake-server.ts";

const ready = (status: Condition["status"], more: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status,
  lastTransitionTime: "2030-01-01T00:00:00Z",
  ...more,
});

test("mergePatch() gives a patch that turns any object into any other, and nothing for equal ones", () => {
  for (let round = 0; round < 2000; round++) {
    const [from, to] = [randomObject(3), randomObject(3)];
    const patch = mergePatch(from, to);
    assert.deepEqual(applyMergePatch(from, patch ?? {}), to, JSON.stringify({ from, to, patch }));
    assert.equal(mergePatch(to, structuredClone(to)), undefined);
  }
});

test("mergePatch() names only the fields that differ", () => {
  const from = { phase: "Running", restarts: 1, lastExit: { code: 1, reason: "Error" }, pid: 7 };
  const to = { phase: "BackOff", restarts: 1, lastExit: { code: 2, reason: "Error" } };
  assert.deepEqual(mergePatch(from, to), { phase: "BackOff", lastExit: { code: 2 }, pid: null });
});

test("statusDelta() is the whole status where the server has none", () => {
  assert.deepEqual(statusDelta(undefined, { phase: "Running", ready: false, restarts: 0 }), {
    phase: "Running",
    ready: false,
    restarts: 0,
  });
});

test("statusDelta() removes a field that the app no longer has, and leaves the scheduler's alone", () => {
  const seen: NCAppStatus = { phase: "Running", pid: 4, nominatedNodeName: "n2" };
  assert.deepEqual(statusDelta(seen, { phase: "Succeeded" }), { phase: "Succeeded", pid: null });
});

test("statusDelta() takes an empty text or list for none", () => {
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

test("statusDelta() sends conditions whole, with those of other writers in their places", () => {
  const other: Condition = { type: "Audited", status: "True", reason: "ByHand" };
  const seen = [other, ready("False")];
  assert.deepEqual(statusDelta({ conditions: seen }, { conditions: [ready("True")] }), {
    conditions: [other, ready("True")],
  });
});

test("mergeConditions() keeps the time of the last change while the status stays", () => {
  const later = "2030-02-02T00:00:00Z";
  assert.deepEqual(mergeConditions([ready("True")], [ready("True", { lastTransitionTime: later })]), [
    ready("True"),
  ]);
  assert.deepEqual(mergeConditions([ready("True")], [ready("False", { lastTransitionTime: later })]), [
    ready("False", { lastTransitionTime: later }),
  ]);
});

test("mergeConditions() keeps the scheduler's words about a scheduled app", () => {
  const scheduled: Condition = {
    type: "Scheduled",
    status: "True",
    reason: "Bound",
    message: "best of 5 nodes",
  };
  const own: Condition = { type: "Scheduled", status: "True", reason: "Bound" };
  assert.deepEqual(mergeConditions([scheduled], [own]), [scheduled]);
  assert.deepEqual(mergeConditions([{ ...scheduled, status: "False" }], [own]), [own]);
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

function randomObject(depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const field of ["a", "b", "c", "d"]) if (Math.random() < 0.6) object[field] = randomValue(depth);
  return object;
}

function randomValue(depth: number): unknown {
  const kind = Math.floor(Math.random() * (depth > 0 ? 5 : 3));
  if (kind === 0) return Math.floor(Math.random() * 3);
  if (kind === 1) return ["x", "y", ""][Math.floor(Math.random() * 3)];
  if (kind === 2) return Math.random() < 0.5;
  if (kind === 3) return [randomObject(depth - 1), Math.floor(Math.random() * 2)];
  return randomObject(depth - 1);
}
