import assert from "node:assert/strict";
import { test } from "node:test";
import { ncapp } from "../sample-cluster.ts";
import { lease, node, priorityClass } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const key = "default/web";

test("an app without a node waits, one with a node counts there", () => {
  const { cluster, apply, takeSaid } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  assert.deepEqual(takeSaid(), [`${key} waits anew`]);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  assert.deepEqual(takeSaid(), [`${key} settled`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(cluster.accounts.usage.of("default"), { cpu: 20_000, mem: 0 });
});

test("apps of another scheduler, and such that are being deleted, do not wait here", () => {
  const { cluster, apply, takeSaid } = createTestCluster();
  apply("foreign", { schedulerName: "other" });
  const going = ncapp("going");
  going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  cluster.applyApp(going);
  assert.deepEqual(takeSaid(), ["default/foreign settled", "default/going settled"]);
});

test("news that are older than what is known change nothing", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  cluster.applyApp(old);
  assert.equal(cluster.app(key)?.nodeName, "a");
});

test("an answer that comes deferred brings back nothing: neither an app that is gone nor what was there before it", () => {
  const { cluster, apply, takeSaid } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  const answer = ncapp("web", { cpuPCT: 20, nodeName: "a" });
  cluster.removeApp(key, "uid-web");
  takeSaid();
  cluster.applyAnswer(answer);
  assert.deepEqual([cluster.app(key), takeSaid()], [undefined, []]);
  const again = ncapp("web", { cpuPCT: 30 });
  again.metadata.uid = "another";
  cluster.applyApp(again);
  cluster.applyAnswer(answer);
  assert.equal(cluster.app(key)?.uid, "another");
  const newer = ncapp("web", { cpuPCT: 30, nodeName: "a" });
  newer.metadata.uid = "another";
  cluster.applyAnswer(newer);
  assert.equal(cluster.app(key)?.nodeName, "a");
});

test("a list of a server that went back in time is the truth, though its versions are lower", () => {
  const { cluster, apply, takeSaid } = createTestCluster(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  takeSaid();
  cluster.replaceApps([old]);
  assert.equal(cluster.app(key)?.nodeName, "a", "it did not go back");
  cluster.replaceApps([old], { rewound: true });
  assert.deepEqual([cluster.app(key)?.nodeName, takeSaid()], [undefined, [`${key} waits anew`]]);
  assert.equal(cluster.snapshot.leavingFrom(key)?.name, "a", "its agent has yet to stop it");
});

test("a status alone does not make an app ask anew", () => {
  const { apply, takeSaid } = createTestCluster();
  apply("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.deepEqual(takeSaid(), [`${key} waits anew`, `${key} waits`]);
});

test("what was assumed counts until the API server shows it, and not twice then", () => {
  const { cluster, apply, takeHappened } = createTestCluster(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  takeHappened();
  cluster.assume(cluster.app(key)!, "a");
  // The watch brings an older state, with a new status, while the bind is on its way.
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  cluster.forgetAssumed(key);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(takeHappened(), []);
});

test("a bind that failed gives back what it took", () => {
  const { cluster, apply, takeHappened } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  cluster.assume(cluster.app(key)!, "a");
  takeHappened();
  cluster.forgetAssumed(key);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
  assert.deepEqual(takeHappened(), ["capacity a", "quota default"]);
});

test("where another was quicker, its bind counts and the own does not", () => {
  const { cluster, apply } = createTestCluster(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  cluster.assume(cluster.app(key)!, "a");
  apply("web", { cpuPCT: 20, nodeName: "b" });
  cluster.forgetAssumed(key);
  assert.deepEqual([cluster.snapshot.node("a")?.usedCpu, cluster.snapshot.node("b")?.usedCpu], [0, 20_000]);
});

test("a list takes away what it does not have, also what was created again under its name", () => {
  const { cluster, apply, takeSaid } = createTestCluster(["a"]);
  apply("gone", { nodeName: "a", cpuPCT: 10 });
  apply("web", { nodeName: "a", cpuPCT: 20 });
  takeSaid();
  const again = ncapp("web");
  again.metadata.uid = "another";
  cluster.replaceApps([again]);
  assert.deepEqual(takeSaid(), ["default/gone settled", `${key} settled`, `${key} waits anew`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});

test("a deletion of an older object of that name takes nothing away", () => {
  const { cluster, apply } = createTestCluster();
  apply("web");
  cluster.removeApp(key, "older");
  assert.ok(cluster.app(key));
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
  const { apply, takeHappened } = createTestCluster(["a"]);
  apply("web", { nodeName: "a", cpuPCT: 50 });
  takeHappened();
  apply("web", { nodeName: "a", cpuPCT: 60 });
  assert.deepEqual(takeHappened(), []);
  apply("web", { nodeName: "a", cpuPCT: 20 });
  assert.deepEqual(takeHappened(), ["capacity a", "quota default"]);
});

test("PriorityClasses count, also when they come later than the apps", () => {
  const { cluster, apply, takeSaid } = createTestCluster();
  apply("web", { priorityClassName: "gold" });
  assert.equal(cluster.app(key)?.missingClass, true);
  takeSaid();
  cluster.applyPriorityClass(priorityClass("gold", 1000, { preemptionPolicy: "Never" }));
  assert.deepEqual([cluster.app(key)?.priority, cluster.app(key)?.preempts], [1000, false]);
  assert.deepEqual(takeSaid(), [`${key} waits anew`]);
  cluster.applyPriorityClass(priorityClass("silver", 500, { globalDefault: true }));
  apply("plain");
  assert.equal(cluster.app("default/plain")?.priority, 500);
  cluster.removePriorityClass("gold");
  assert.equal(cluster.app(key)?.missingClass, true);
});

test("an app on a node that is nowhere to be seen is on a lost node, 40 s later", () => {
  const { cluster, clock, apply } = createTestCluster(["a"]);
  apply("web", { nodeName: "ghost" });
  const stateOf = (name: string) =>
    cluster.liveness.states().find(({ node }) => node.name === name)?.health?.state;
  assert.equal(stateOf("ghost"), "fresh");
  clock.now += 41_000;
  assert.equal(stateOf("ghost"), "lost");
  assert.equal(cluster.snapshot.nodes.length, 1, "it is no candidate");
  cluster.removeApp(key, "uid-web");
  assert.equal(stateOf("ghost"), undefined);
});

test("a node whose Lease is deleted falls silent, and is forgotten when no app is bound to it", () => {
  const { cluster, clock, apply } = createTestCluster(["a", "b"]);
  apply("web", { nodeName: "a" });
  for (const name of ["a", "b"]) cluster.liveness.removeLease(lease(name, clock.now));
  clock.now += 41_000;
  const states = new Map(cluster.liveness.states().map(({ node, health }) => [node.name, health?.state]));
  assert.deepEqual([states.get("a"), states.get("b")], ["lost", undefined]);
});

test("a Node that changes for whatever reason is told once, and not for a heartbeat", () => {
  const { cluster, takeHappened } = createTestCluster(["a"]);
  takeHappened();
  cluster.applyNode(node("a"));
  assert.deepEqual(takeHappened(), []);
  cluster.applyNode(node("a", { labels: { zone: "b" } }));
  assert.deepEqual(takeHappened(), ["node a"]);
});
