import assert from "node:assert/strict";
import { test } from "node:test";
import { ncapp } from "../cluster.ts";
import { lease, node, priorityClass } from "../objects.ts";
import { createTestWorld } from "../test-world.ts";

const key = "default/web";

test("an app without a node waits, one with a node counts there", () => {
  const { world, apply, takeSaid } = createTestWorld(["a"]);
  apply("web", { cpuPCT: 20 });
  assert.deepEqual(takeSaid(), [`${key} waits anew`]);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  assert.deepEqual(takeSaid(), [`${key} settled`]);
  assert.equal(world.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(world.accounts.ledger.of("default"), { cpu: 20_000, mem: 0 });
});

test("apps of another scheduler, and such that are being deleted, do not wait here", () => {
  const { world, apply, takeSaid } = createTestWorld();
  apply("foreign", { schedulerName: "other" });
  const going = ncapp("going");
  going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  world.applyApp(going);
  assert.deepEqual(takeSaid(), ["default/foreign settled", "default/going settled"]);
});

test("news that are older than what is known change nothing", () => {
  const { world, apply } = createTestWorld(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  world.applyApp(old);
  assert.equal(world.app(key)?.nodeName, "a");
});

test("an answer that comes late brings back nothing: neither an app that is gone nor what was there before it", () => {
  const { world, apply, takeSaid } = createTestWorld(["a"]);
  apply("web", { cpuPCT: 20 });
  const answer = ncapp("web", { cpuPCT: 20, nodeName: "a" });
  world.removeApp(key, "uid-web");
  takeSaid();
  world.applyAnswer(answer);
  assert.deepEqual([world.app(key), takeSaid()], [undefined, []]);
  const again = ncapp("web", { cpuPCT: 30 });
  again.metadata.uid = "another";
  world.applyApp(again);
  world.applyAnswer(answer);
  assert.equal(world.app(key)?.uid, "another");
  const newer = ncapp("web", { cpuPCT: 30, nodeName: "a" });
  newer.metadata.uid = "another";
  world.applyAnswer(newer);
  assert.equal(world.app(key)?.nodeName, "a");
});

test("a list of a server that went back in time is the truth, though its versions are lower", () => {
  const { world, apply, takeSaid } = createTestWorld(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  takeSaid();
  world.replaceApps([old]);
  assert.equal(world.app(key)?.nodeName, "a", "it did not go back");
  world.replaceApps([old], { rewound: true });
  assert.deepEqual([world.app(key)?.nodeName, takeSaid()], [undefined, [`${key} waits anew`]]);
  assert.equal(world.snapshot.leavingFrom(key)?.name, "a", "its agent has yet to stop it");
});

test("a status alone does not make an app ask anew", () => {
  const { apply, takeSaid } = createTestWorld();
  apply("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.deepEqual(takeSaid(), [`${key} waits anew`, `${key} waits`]);
});

test("what was assumed counts until the API server shows it, and not twice then", () => {
  const { world, apply, takeHappened } = createTestWorld(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  takeHappened();
  world.assume(world.app(key)!, "a");
  // The watch brings an older state, with a new status, while the bind is on its way.
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.equal(world.snapshot.node("a")?.usedCpu, 20_000);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  world.forgetAssumed(key);
  assert.equal(world.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(takeHappened(), []);
});

test("a bind that failed gives back what it took", () => {
  const { world, apply, takeHappened } = createTestWorld(["a"]);
  apply("web", { cpuPCT: 20 });
  world.assume(world.app(key)!, "a");
  takeHappened();
  world.forgetAssumed(key);
  assert.equal(world.snapshot.node("a")?.usedCpu, 0);
  assert.deepEqual(takeHappened(), ["capacity a", "quota default"]);
});

test("where another was quicker, its bind counts and the own does not", () => {
  const { world, apply } = createTestWorld(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  world.assume(world.app(key)!, "a");
  apply("web", { cpuPCT: 20, nodeName: "b" });
  world.forgetAssumed(key);
  assert.deepEqual([world.snapshot.node("a")?.usedCpu, world.snapshot.node("b")?.usedCpu], [0, 20_000]);
});

test("a list takes away what it does not have, also what was created again under its name", () => {
  const { world, apply, takeSaid } = createTestWorld(["a"]);
  apply("gone", { nodeName: "a", cpuPCT: 10 });
  apply("web", { nodeName: "a", cpuPCT: 20 });
  takeSaid();
  const again = ncapp("web");
  again.metadata.uid = "another";
  world.replaceApps([again]);
  assert.deepEqual(takeSaid(), ["default/gone settled", `${key} settled`, `${key} waits anew`]);
  assert.equal(world.snapshot.node("a")?.usedCpu, 0);
});

test("a deletion of an older object of that name takes nothing away", () => {
  const { world, apply } = createTestWorld();
  apply("web");
  world.removeApp(key, "older");
  assert.ok(world.app(key));
});

test("apps that ended for good give their share back; with a schedule, or a changed spec, they keep it", () => {
  const { world, apply } = createTestWorld(["a"]);
  const used = () => world.snapshot.node("a")?.usedCpu;
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
  const { apply, takeHappened } = createTestWorld(["a"]);
  apply("web", { nodeName: "a", cpuPCT: 50 });
  takeHappened();
  apply("web", { nodeName: "a", cpuPCT: 60 });
  assert.deepEqual(takeHappened(), []);
  apply("web", { nodeName: "a", cpuPCT: 20 });
  assert.deepEqual(takeHappened(), ["capacity a", "quota default"]);
});

test("PriorityClasses count, also when they come later than the apps", () => {
  const { world, apply, takeSaid } = createTestWorld();
  apply("web", { priorityClassName: "gold" });
  assert.equal(world.app(key)?.missingClass, true);
  takeSaid();
  world.applyPriorityClass(priorityClass("gold", 1000, { preemptionPolicy: "Never" }));
  assert.deepEqual([world.app(key)?.priority, world.app(key)?.preempts], [1000, false]);
  assert.deepEqual(takeSaid(), [`${key} waits anew`]);
  world.applyPriorityClass(priorityClass("silver", 500, { globalDefault: true }));
  apply("plain");
  assert.equal(world.app("default/plain")?.priority, 500);
  world.removePriorityClass("gold");
  assert.equal(world.app(key)?.missingClass, true);
});

test("an app on a node that is nowhere to be seen is on a lost node, 40 s later", () => {
  const { world, clock, apply } = createTestWorld(["a"]);
  apply("web", { nodeName: "ghost" });
  const stateOf = (name: string) =>
    world.liveness.states().find(({ node }) => node.name === name)?.health?.state;
  assert.equal(stateOf("ghost"), "fresh");
  clock.now += 41_000;
  assert.equal(stateOf("ghost"), "lost");
  assert.equal(world.snapshot.nodes.length, 1, "it is no candidate");
  world.removeApp(key, "uid-web");
  assert.equal(stateOf("ghost"), undefined);
});

test("a node whose Lease is deleted falls silent, and is forgotten when no app is bound to it", () => {
  const { world, clock, apply } = createTestWorld(["a", "b"]);
  apply("web", { nodeName: "a" });
  for (const name of ["a", "b"]) world.liveness.removeLease(lease(name, clock.now));
  clock.now += 41_000;
  const states = new Map(world.liveness.states().map(({ node, health }) => [node.name, health?.state]));
  assert.deepEqual([states.get("a"), states.get("b")], ["lost", undefined]);
});

test("a Node that changes for whatever reason is told once, and not for a heartbeat", () => {
  const { world, takeHappened } = createTestWorld(["a"]);
  takeHappened();
  world.applyNode(node("a"));
  assert.deepEqual(takeHappened(), []);
  world.applyNode(node("a", { labels: { zone: "b" } }));
  assert.deepEqual(takeHappened(), ["node a"]);
});
