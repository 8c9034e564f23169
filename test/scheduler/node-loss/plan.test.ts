import assert from "node:assert/strict";
import { test } from "node:test";
import type { Toleration } from "../../../src/api/types.ts";
import type { NodeHealth } from "../../../src/kube/node-health.ts";
import { type LossPlan, planNodeLoss } from "../../../src/scheduler/node-loss/plan.ts";
import type { NodeProperties, SchedulerApp } from "../../../src/scheduler/types.ts";
import { app, snapshotOf } from "../sample-cluster.ts";

const fresh: NodeHealth = { state: "fresh" };
const lost = (seconds: number): NodeHealth => ({
  state: "lost",
  silentMs: (seconds + 40) * 1000,
  lostMs: seconds * 1000,
});

/** Four nodes, `a` with the app and the health that are given. */
function plan(
  there: SchedulerApp,
  health: NodeHealth | undefined,
  { others = fresh, facts = {} as Partial<NodeProperties>, now = 0 } = {},
): LossPlan {
  const snapshot = snapshotOf({ a: facts, b: {}, c: {}, d: {} });
  snapshot.place({ ...there, nodeName: "a" }, "a");
  return planNodeLoss(snapshot.nodes.map((node) => ({ node, health: node.name === "a" ? health : others })), {
    now,
  });
}

const kinds = ({ actions }: LossPlan) => actions.map(({ kind }) => kind);
const bearing = (toleration: Toleration) => app("web", { tolerations: [toleration] });

test("an app on a lost node is marked at once and unbound after 300 s", () => {
  assert.deepEqual(kinds(plan(app("web"), fresh)), []);
  const [mark] = plan(app("web"), lost(1)).actions;
  assert.deepEqual([mark?.kind, mark?.message], ["mark", "node a has not reported for 41 s"]);
  const marked = app("web", {}, { status: { phase: "Unknown" } });
  assert.deepEqual(kinds(plan(marked, lost(299))), []);
  assert.deepEqual(kinds(plan(marked, lost(300))), ["unbind"]);
});

test("tolerations of either key set how long an app stays on a lost node; without seconds it stays forever", () => {
  for (const key of ["app.example.com/unreachable", "node.kubernetes.io/unreachable"]) {
    const quick = bearing({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 });
    assert.deepEqual([kinds(plan(quick, lost(4))), kinds(plan(quick, lost(5)))], [["mark"], ["unbind"]]);
    const patient = bearing({ key, operator: "Exists", effect: "NoExecute" });
    assert.deepEqual(kinds(plan(patient, lost(1e6))), ["mark"]);
  }
});

test("if more than half of the nodes are lost no app is unbound, at exactly half it still is", () => {
  const marked = app("web", {}, { status: { phase: "Unknown" } });
  const broken = plan(marked, lost(1000), { others: lost(1000) });
  assert.deepEqual([broken.paused, kinds(broken)], [true, []]);
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(marked, "a");
  const half = planNodeLoss(
    snapshot.nodes.map((node) => ({ node, health: node.name === "a" ? lost(1000) : fresh })),
    { now: 0 },
  );
  assert.deepEqual([half.paused, kinds(half)], [false, ["unbind"]]);
});

test("nodes that never had an agent are ignored, and apps that were bound to them by hand stay", () => {
  const snapshot = snapshotOf({ a: {}, b: {}, c: {}, d: {} });
  snapshot.place(app("web"), "a");
  const states = snapshot.nodes.map((node) => ({
    node,
    health: node.name === "b" ? lost(1000) : node.name === "a" ? undefined : fresh,
  }));
  const { paused, actions, lost: names } = planNodeLoss(states, { now: 0 });
  assert.deepEqual([paused, actions, names], [false, [], ["b"]]);
});

test("mirrors and apps of other schedulers are marked but never moved", () => {
  for (const more of [{ mirror: true }, { ours: false }]) {
    assert.deepEqual(kinds(plan(app("web", {}, more), lost(1e6))), ["mark"]);
  }
});

test("a NoExecute taint evicts apps, at once or after their tolerationSeconds", () => {
  const facts = { taints: [{ key: "repair", effect: "NoExecute", since: 1000 }] };
  const [action] = plan(app("web"), fresh, { facts, now: 1000 }).actions;
  assert.deepEqual([action?.kind, action?.message], [
    "unbind",
    "node a has the taint {repair: }, which the app does not tolerate",
  ]);
  const patient = bearing({ key: "repair", operator: "Exists", effect: "NoExecute", tolerationSeconds: 10 });
  assert.deepEqual(kinds(plan(patient, fresh, { facts, now: 10_999 })), []);
  assert.deepEqual(kinds(plan(patient, fresh, { facts, now: 11_000 })), ["unbind"]);
  assert.deepEqual(kinds(plan(bearing({ operator: "Exists" }), fresh, { facts, now: 1e9 })), []);
  const later = { ...patient, boundAt: 5000 };
  assert.deepEqual(kinds(plan(later, fresh, { facts, now: 14_999 })), [], "it counts from the bind");
  assert.deepEqual(kinds(plan(later, fresh, { facts, now: 15_000 })), ["unbind"]);
});

test("a silent kubelet moves no app while the agent is alive", () => {
  const facts = { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute", since: 0 }] };
  assert.deepEqual(kinds(plan(app("web"), fresh, { facts, now: 1e9 })), []);
});
