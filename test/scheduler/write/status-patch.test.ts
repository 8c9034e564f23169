import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { readApp } from "../../../src/scheduler/state/state.ts";
import { type StatusChange, statusPatch } from "../../../src/scheduler/write/status-patch.ts";
import { kstatus } from "../../kstatus.ts";
import { ncapp } from "../sample-cluster.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const earlier = "2025-12-31T23:00:00Z";

function patch(news: StatusChange, status: NCAppStatus = {}, nodeName?: string): NCAppStatus | undefined {
  return statusPatch(readApp(ncapp("web", { nodeName }, status)), news, now) as NCAppStatus | undefined;
}

/** The status after the patch, as a server would have it. */
const merge = (status: NCAppStatus, change: NCAppStatus | undefined): NCAppStatus =>
  Object.fromEntries(Object.entries({ ...status, ...change }).filter(([, value]) => value !== null));

test("a refusal sets a condition and the phase, once", () => {
  const news: StatusChange = { kind: "refused", message: "0/1 nodes are available: 1 not ready" };
  const first = patch(news)!;
  assert.deepEqual([first.phase, first.reason, first.message], ["Pending", "Unschedulable", news.message]);
  const condition = {
    reason: "Unschedulable",
    message: news.message,
    observedGeneration: 1,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  assert.deepEqual(first.conditions, [
    { type: "Scheduled", status: "False", ...condition },
    { type: "Reconciling", status: "True", ...condition },
  ]);
  assert.equal(patch(news, first), undefined);
  assert.equal(patch(news, {}, "a"), undefined, "it was bound meanwhile");
});

test("an edit of a waiting app is observed with one patch, which keeps the time of the condition", () => {
  const news: StatusChange = { kind: "refused", message: "0/1 nodes are available: 1 not ready" };
  const at = (generation: number, status: NCAppStatus, later: number) =>
    statusPatch(readApp(ncapp("web", {}, status, { generation })), news, now + later) as
      | NCAppStatus
      | undefined;
  const first = at(1, {}, 0)!;
  assert.equal(first.observedGeneration, 1);
  const edited = at(2, first, 5000)!;
  assert.deepEqual(edited, {
    observedGeneration: 2,
    conditions: first.conditions?.map((condition) => ({ ...condition, observedGeneration: 2 })),
  });
  assert.equal(at(2, merge(first, edited), 9000), undefined);
});

test("an app without a node is not Ready, whatever its last run reported", () => {
  const news: StatusChange = { kind: "refused", message: "0/1 nodes are available: 1 not ready" };
  const isReady = { type: "Ready", status: "True", lastTransitionTime: earlier } as const;
  for (const phase of ["Running", "Pending"] as const) {
    const before: NCAppStatus = { phase, ready: true, pid: 7, conditions: [isReady] };
    const change: NCAppStatus = patch(news, before)!;
    const ready = change.conditions?.find(({ type }) => type === "Ready");
    assert.deepEqual([change.ready, change.pid], [false, null], phase);
    assert.deepEqual([ready?.status, ready?.reason, ready?.message], [
      "False",
      "Unschedulable",
      news.message,
    ]);
    assert.equal(patch(news, merge(before, change)), undefined, "it is said once");
  }
});

test("another reason keeps the transition time, and other conditions stay", () => {
  const ready = { type: "Ready", status: "False" } as const;
  const before = {
    conditions: [ready, { type: "Scheduled", status: "False", message: "old", lastTransitionTime: earlier }],
  } as NCAppStatus;
  const { conditions } = patch({ kind: "refused", message: "new" }, before)!;
  assert.deepEqual(
    conditions?.map(({ type, message, lastTransitionTime }) => [type, message, lastTransitionTime]),
    [
      ["Ready", undefined, undefined],
      ["Scheduled", "new", earlier],
      ["Reconciling", "new", "2026-01-01T00:00:00Z"],
    ],
  );
});

test("a nomination is written and cleared", () => {
  const nominated = patch({ kind: "refused", message: "m", nominated: "a" })!;
  assert.equal(nominated.nominatedNodeName, "a");
  assert.equal(patch({ kind: "refused", message: "m" }, nominated)?.nominatedNodeName, null);
  assert.equal(patch({ kind: "bound", node: "a" }, nominated, "a")?.nominatedNodeName, null);
});

test("a bind is reported unless the node's agent has already reported it", () => {
  const refused = patch({ kind: "refused", message: "m" })!;
  const bound = patch({ kind: "bound", node: "a" }, refused, "a")!;
  assert.deepEqual([bound.reason, bound.conditions?.[0]?.status], [null, "True"]);
  const byAgent: NCAppStatus = { phase: "Running", conditions: [{ type: "Scheduled", status: "True" }] };
  assert.equal(patch({ kind: "bound", node: "a" }, byAgent, "a"), undefined);
  assert.equal(patch({ kind: "bound", node: "a" }, {}, "b"), undefined, "it has moved on");
});

test("a lost node makes its apps Unknown, except those that had ended", () => {
  const running: NCAppStatus = { phase: "Running", ready: true, pid: 7 };
  const lost = patch({ kind: "lost", message: "m" }, running, "a")!;
  assert.deepEqual([lost.phase, lost.reason, lost.ready, lost.conditions?.[0]?.status], [
    "Unknown",
    "NodeLost",
    false,
    "Unknown",
  ]);
  assert.equal(patch({ kind: "lost", message: "other" }, merge(running, lost), "a"), undefined);
  assert.equal(patch({ kind: "lost", message: "m" }, { phase: "Succeeded" }, "a"), undefined);
});

test("an unbound app is Pending and uses nothing", () => {
  const change = patch({ kind: "unbound", reason: "Preempted", message: "m" }, {
    phase: "Running",
    ready: true,
    pid: 7,
  })!;
  assert.deepEqual([change.phase, change.reason, change.ready, change.pid, change.memoryBytes], [
    "Pending",
    "Preempted",
    false,
    null,
    null,
  ]);
  assert.deepEqual(change.conditions?.map(({ type, status }) => `${type}=${status}`), [
    "Scheduled=False",
    "Ready=False",
    "Reconciling=True",
  ]);
});

test("an unbound app is no longer complete, failed, stalled, suspended or without a Pod, and keeps the conditions of others", () => {
  const types = ["Complete", "Failed", "Stalled", "Suspended", "PodShown", "Audited"];
  const conditions = types.map((type) => ({ type, status: "True" } as const));
  const change = patch({ kind: "unbound", reason: "Preempted", message: "m" }, {
    phase: "Failed",
    conditions,
  })!;
  assert.deepEqual(change.conditions?.map(({ type }) => type), [
    "Audited",
    "Scheduled",
    "Ready",
    "Reconciling",
  ]);
});

test("kstatus: an app that no node can run, that was evicted or whose node is lost is in progress", () => {
  const lost = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } as NCAppStatus;
  const statuses = [
    patch({ kind: "refused", message: "m" }),
    patch({ kind: "unbound", reason: "Preempted", message: "m" }, { phase: "Succeeded" }),
    merge(lost, patch({ kind: "lost", message: "m" }, lost, "a")),
  ];
  for (const status of statuses) assert.equal(kstatus({ metadata: { generation: 1 }, status }), "InProgress");
});
