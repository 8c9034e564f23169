import assert from "node:assert/strict";
import { test } from "node:test";
import { placeApp } from "../../src/scheduler/place/place.ts";
import { SchedulingQueue } from "../../src/scheduler/queue/queue.ts";
import { createInbox } from "../../src/scheduler/inbox.ts";
import { requeueUnblocked } from "../../src/scheduler/requeue.ts";
import { limitRange, node, quota } from "./objects.ts";
import { createTestCluster } from "./test-cluster.ts";

/** A cluster with a queue in which all apps that fit nowhere are parked. */
function createScene(nodes: string[]) {
  const scene = createTestCluster(nodes);
  const { cluster, clock } = scene;
  const queue = new SchedulingQueue(() => clock.now);
  const inbox = createInbox(cluster, queue);
  /** Tries all that are active; the names of those that would be bound. */
  const tryAll = () => {
    requeueUnblocked(queue, cluster, inbox.takeEvents(), { policy: "spread", now: 0 });
    const tried: string[] = [];
    const bound: string[] = [];
    for (let key = queue.take(); key; key = queue.take()) {
      tried.push(key);
      const decision = placeApp(cluster.apps.get(key)!, cluster, {
        policy: "spread",
        now: clock.now,
        random: () => 0,
      });
      if (decision.kind !== "bind") queue.park(key, decision.helpedBy);
      else {
        cluster.apps.assume(decision.app, decision.node);
        bound.push(key);
      }
    }
    return { tried, bound };
  };
  return { ...scene, queue, tryAll };
}

test("of a hundred apps that wait for room, only those that fit are tried again", () => {
  const { cluster, apply, tryAll } = createScene(["a"]);
  apply("big", { nodeName: "a", cpuPCT: 100 });
  for (let at = 0; at < 100; at++) apply(`w${at}`, { cpuPCT: 30 });
  assert.equal(tryAll().bound.length, 0);
  cluster.apps.remove("default/big", "uid-big");
  const { tried, bound } = tryAll();
  assert.deepEqual([tried.length, bound.length], [3, 3]);
});

test("an event that helps no app requeues none", () => {
  const { cluster, apply, tryAll } = createScene(["a", "b"]);
  apply("full-a", { nodeName: "a", cpuPCT: 90 });
  apply("small", { nodeName: "b", cpuPCT: 10 });
  apply("full-b", { nodeName: "b", cpuPCT: 85 });
  apply("waits", { cpuPCT: 50 });
  tryAll();
  cluster.apps.remove("default/small", "uid-small");
  assert.deepEqual(tryAll().tried, []);
  cluster.apps.remove("default/full-b", "uid-full-b");
  assert.deepEqual(tryAll().bound, ["default/waits"]);
});

test("a new or uncordoned node requeues the apps that it fits", () => {
  const { cluster, beat, apply, tryAll } = createScene([]);
  apply("any");
  apply("picky", { nodeSelector: { zone: "b" } });
  assert.equal(tryAll().tried.length, 2);
  cluster.applyNode(node("a", { spec: { unschedulable: true } }));
  beat("a");
  assert.deepEqual(tryAll().tried, []);
  cluster.applyNode(node("a"));
  assert.deepEqual(tryAll().bound, ["default/any"]);
});

test("an agent that is alive again requeues apps", () => {
  const { cluster, clock, beat, apply, tryAll } = createScene(["a"]);
  clock.now += 41_000;
  cluster.liveness.check();
  apply("web");
  assert.deepEqual(tryAll().bound, []);
  clock.now += 1000;
  beat("a");
  assert.deepEqual(tryAll().bound, ["default/web"]);
});

test("room in a quota requeues only as many apps as fit", () => {
  const { cluster, apply, tryAll } = createScene(["a"]);
  cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
  apply("has", { nodeName: "a", cpuPCT: 50 });
  for (const name of ["one", "two", "three"]) apply(name, { cpuPCT: 20 });
  assert.equal(tryAll().bound.length, 0);
  cluster.apps.remove("default/has", "uid-has");
  const { tried, bound } = tryAll();
  assert.deepEqual([tried.length, bound.length], [2, 2]);
  cluster.rules.applyQuota(quota("team", { cpuPCT: "60" }));
  assert.equal(tryAll().bound.length, 1);
});

test("an app is not tried while it is still stopping on the node that it left", () => {
  const { cluster, clock, apply, tryAll } = createScene(["a", "b"]);
  apply("web", { nodeName: "a", cpuPCT: 10, terminationGracePeriodSeconds: 5 }, { phase: "Running" });
  apply("web", { cpuPCT: 10 }, { phase: "Running" });
  assert.deepEqual(tryAll(), { tried: ["default/web"], bound: [] });
  clock.now += 10_000;
  cluster.removeOverdue();
  assert.deepEqual(tryAll().bound, ["default/web"]);
});

test("a LimitRange default that was too high requeues apps when it is corrected or removed", () => {
  const { cluster, clock, apply, tryAll } = createScene(["a"]);
  apply("has", { nodeName: "a", cpuPCT: 50 });
  for (
    const [name, correct] of Object.entries({
      corrected: () => cluster.rules.applyLimitRange(limitRange("caps", { default: { cpuPCT: "10" } })),
      gone: () => cluster.rules.removeLimitRange(limitRange("caps", {})),
    })
  ) {
    cluster.rules.applyLimitRange(limitRange("caps", { default: { cpuPCT: "60" } }));
    apply(name);
    assert.deepEqual(tryAll(), { tried: [`default/${name}`], bound: [] });
    correct();
    assert.deepEqual(tryAll().tried, [], "its backoff is not over");
    clock.now += 1000;
    assert.deepEqual(tryAll().bound, [`default/${name}`]);
  }
});

test("an app that waits because of its skew is tried again when another domain gets an app", () => {
  const { cluster, clock, apply, tryAll } = createScene(["a", "b"]);
  for (const name of ["a", "b"]) cluster.applyNode(node(name, { labels: { zone: name } }));
  const topologySpreadConstraints = [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" as const, labelSelector: {} },
  ];
  apply("first", { nodeName: "a", cpuPCT: 10 });
  apply("second", { nodeName: "a", cpuPCT: 10 });
  apply("large", { nodeName: "b", cpuPCT: 50 });
  apply("waits", { cpuPCT: 60, topologySpreadConstraints });
  assert.deepEqual(tryAll(), { tried: ["default/waits"], bound: [] });
  clock.now += 20_000;
  assert.deepEqual(tryAll().tried, []);
  apply("small", { nodeName: "b", cpuPCT: 1 });
  assert.deepEqual(tryAll().bound, ["default/waits"]);
});
