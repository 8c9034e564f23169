import assert from "node:assert/strict";
import { test } from "node:test";
import { ncapp } from "../sample-cluster.ts";
import { lease, node, priorityClass } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const key = "default/web";

test("an app without a node waits, one with a node counts there", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  assert.deepEqual(takeCalls(), [`${key} waits, changed`]);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  assert.deepEqual(takeCalls(), [`${key} settled`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(cluster.accounts.usage.of("default"), { cpu: 20_000, mem: 0 });
});

test("apps of another scheduler, and such that are being deleted, do not wait here", () => {
  const { cluster, apply, takeCalls } = createTestCluster();
  apply("foreign", { schedulerName: "other" });
  const going = ncapp("going");
  going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  cluster.apps.apply(going);
  assert.deepEqual(takeCalls(), ["default/foreign settled", "default/going settled"]);
});

test("news that are older than what is known change nothing", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  cluster.apps.apply(old);
  assert.equal(cluster.apps.get(key)?.nodeName, "a");
});

test("an answer that comes deferred brings back nothing: neither an app that is gone nor what was there before it", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  const answer = ncapp("web", { cpuPCT: 20, nodeName: "a" });
  cluster.apps.remove(key, "uid-web");
  takeCalls();
  cluster.apps.applyAnswer(answer);
  assert.deepEqual([cluster.apps.get(key), takeCalls()], [undefined, []]);
  const again = ncapp("web", { cpuPCT: 30 });
  again.metadata.uid = "another";
  cluster.apps.apply(again);
  cluster.apps.applyAnswer(answer);
  assert.equal(cluster.apps.get(key)?.uid, "another");
  const newer = ncapp("web", { cpuPCT: 30, nodeName: "a" });
  newer.metadata.uid = "another";
  cluster.apps.applyAnswer(newer);
  assert.equal(cluster.apps.get(key)?.nodeName, "a");
});

test("a list of a server that went back in time is the truth, though its versions are lower", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  takeCalls();
  cluster.replaceApps([old]);
  assert.equal(cluster.apps.get(key)?.nodeName, "a", "it did not go back");
  cluster.replaceApps([old], { rewound: true });
  assert.deepEqual([cluster.apps.get(key)?.nodeName, takeCalls()], [undefined, [`${key} waits, changed`]]);
  assert.equal(cluster.snapshot.leavingFrom(key)?.name, "a", "its agent has yet to stop it");
});

test("a status alone does not make an app ask anew", () => {
  const { apply, takeCalls } = createTestCluster();
  apply("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.deepEqual(takeCalls(), [`${key} waits, changed`, `${key} waits`]);
});

test("what was assumed counts until the API server shows it, and not twice then", () => {
  const { cluster, apply, takeEvents } = createTestCluster(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  takeEvents();
  cluster.apps.assume(cluster.apps.get(key)!, "a");
  // The watch brings an older state, with a new status, while the bind is on its way.
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  cluster.apps.forgetAssumed(key);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(takeEvents(), []);
});

test("a bind that failed gives back what it took", () => {
  const { cluster, apply, takeEvents } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  cluster.apps.assume(cluster.apps.get(key)!, "a");
  takeEvents();
  cluster.apps.forgetAssumed(key);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
  assert.deepEqual(takeEvents(), ["capacity a", "quota default"]);
});

test("where another was quicker, its bind counts and the own does not", () => {
  const { cluster, apply } = createTestCluster(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  cluster.apps.assume(cluster.apps.get(key)!, "a");
  apply("web", { cpuPCT: 20, nodeName: "b" });
  cluster.apps.forgetAssumed(key);
  assert.deepEqual([cluster.snapshot.node("a")?.usedCpu, cluster.snapshot.node("b")?.usedCpu], [0, 20_000]);
});

test("a list takes away what it does not have, also what was created again under its name", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("gone", { nodeName: "a", cpuPCT: 10 });
  apply("web", { nodeName: "a", cpuPCT: 20 });
  takeCalls();
  const again = ncapp("web");
  again.metadata.uid = "another";
  cluster.replaceApps([again]);
  assert.deepEqual(takeCalls(), ["default/gone settled", `${key} settled`, `${key} waits, changed`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});

test("a deletion of an older object of that name takes nothing away", () => {
  const { cluster, apply } = createTestCluster();
  apply("web");
  cluster.apps.remove(key, "older");
  assert.ok(cluster.apps.get(key));
});

test("apps that ended for good give their share back; with a schedule, or a changed spec, they keep it", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  const used = () => cluster.snapshot.node("a")?.usedCpu;
  apply("job", { nodeName: "a", cpuPCT: 20 }, { phase: "Succeeded", observedGeneration: 1 });
  assert.equal(used(), 0);
  apply("job", { nodeName: "a", cpuPCT: 20 }, { phase: "Succeeded", observedGeneration: 0 });
  assert.equal(used(), 20_000);
  apply("job", { nodeName: "a", cpuPCT: 20, schedule: "@daily" }, {
    phase: "Succeeded",
    observedGeneration: 1,
  });
  assert.equal(used(), 20_000);
});

test("smaller caps are capacity that comes free", () => {
  const { apply, takeEvents } = createTestCluster(["a"]);
  apply("web", { nodeName: "a", cpuPCT: 50 });
  takeEvents();
  apply("web", { nodeName: "a", cpuPCT: 60 });
  assert.deepEqual(takeEvents(), []);
  apply("web", { nodeName: "a", cpuPCT: 20 });
  assert.deepEqual(takeEvents(), ["capacity a", "quota default"]);
});

test("PriorityClasses count, also when they come later than the apps", () => {
  const { cluster, apply, takeCalls } = createTestCluster();
  apply("web", { priorityClassName: "gold" });
  assert.equal(cluster.apps.get(key)?.missingClass, true);
  takeCalls();
  cluster.apps.applyPriorityClass(priorityClass("gold", 1000, { preemptionPolicy: "Never" }));
  assert.deepEqual([cluster.apps.get(key)?.priority, cluster.apps.get(key)?.preempts], [1000, false]);
  assert.deepEqual(takeCalls(), [`${key} waits, changed`]);
  cluster.apps.applyPriorityClass(priorityClass("silver", 500, { globalDefault: true }));
  apply("plain");
  assert.equal(cluster.apps.get("default/plain")?.priority, 500);
  cluster.apps.removePriorityClass("gold");
  assert.equal(cluster.apps.get(key)?.missingClass, true);
});

test("an app on a node that is nowhere to be seen is on a lost node, 40 s later", () => {
  const { cluster, clock, apply } = createTestCluster(["a"]);
  apply("web", { nodeName: "ghost" });
  const stateOf = (name: string) =>
    cluster.liveness.check().find(({ node }) => node.name === name)?.health?.state;
  assert.equal(stateOf("ghost"), "fresh");
  clock.now += 41_000;
  assert.equal(stateOf("ghost"), "lost");
  assert.equal(cluster.snapshot.nodes.length, 1, "it is no candidate");
  cluster.apps.remove(key, "uid-web");
  assert.equal(stateOf("ghost"), undefined);
});

test("a node whose Lease is deleted falls silent, and is forgotten when no app is bound to it", () => {
  const { cluster, clock, apply } = createTestCluster(["a", "b"]);
  apply("web", { nodeName: "a" });
  for (const name of ["a", "b"]) cluster.liveness.removeLease(lease(name, clock.now));
  clock.now += 41_000;
  const states = new Map(cluster.liveness.check().map(({ node, health }) => [node.name, health?.state]));
  assert.deepEqual([states.get("a"), states.get("b")], ["lost", undefined]);
});

test("a Node that changes for whatever reason is told once, and not for a heartbeat", () => {
  const { cluster, takeEvents } = createTestCluster(["a"]);
  takeEvents();
  cluster.applyNode(node("a"));
  assert.deepEqual(takeEvents(), []);
  cluster.applyNode(node("a", { labels: { zone: "b" } }));
  assert.deepEqual(takeEvents(), ["node a"]);
});
