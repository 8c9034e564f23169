import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import { ncapp } from "../sample-cluster.ts";
import { priorityClass } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const key = "default/web";

test("an app without a node waits, an app with a node counts there", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  assert.deepEqual(takeCalls(), [`${key} waits, changed`]);
  apply("web", { cpuPCT: 20, nodeName: "a" });
  assert.deepEqual(takeCalls(), [`${key} settled`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.deepEqual(cluster.accounts.usage.of("default"), { cpu: 20_000, mem: 0 });
});

test("the time of a bind is when it was seen, else when the condition says, and a move is a bind", () => {
  const { cluster, clock, apply } = createTestCluster(["a", "b"]);
  const scheduled = {
    type: "Scheduled",
    status: "True",
    lastTransitionTime: "2025-12-31T00:00:00Z",
  } as const;
  const boundAt = () => cluster.apps.get(key)?.boundAt;
  apply("web", { nodeName: "a" }, { conditions: [scheduled] });
  assert.equal(boundAt(), Date.parse(scheduled.lastTransitionTime));
  const moved = clock.now += 1000;
  apply("web", { nodeName: "b" }, { conditions: [scheduled] });
  assert.equal(boundAt(), moved);
  clock.now += 1000;
  apply("web", { nodeName: "b", cpuPCT: 5 });
  assert.equal(boundAt(), moved, "an edit is not a bind");
  apply("web");
  assert.equal(boundAt(), undefined);
});

test("the time of a deletion is when it was first seen, whatever the clock of the API server says", () => {
  const { cluster, clock } = createTestCluster(["a"]);
  const apply = (deletionTimestamp?: string) =>
    cluster.apps.apply(ncapp("web", { nodeName: "a" }, undefined, { deletionTimestamp }));
  const deletedAt = () => cluster.apps.get(key)?.deletedAt;
  apply();
  assert.equal(deletedAt(), 0);
  const seen = clock.now += 1000;
  apply("2001-01-01T00:00:00Z");
  assert.equal(deletedAt(), seen);
  clock.now += 1000;
  apply("2001-01-01T00:00:00Z");
  assert.equal(deletedAt(), seen);
});

test("a copy of a mirror is an ordinary app, also in the answer to a bind", () => {
  const { cluster } = createTestCluster(["a"]);
  const copy = {
    annotations: { [annotations.mirror]: "a/0123456789abcdef", [annotations.mirrorUid]: "other" },
  };
  const isMirror = () => cluster.apps.get(key)?.mirror;
  cluster.replaceApps([ncapp("web")], "1");
  cluster.apps.applyAnswer(ncapp("web", { nodeName: "a" }, undefined, copy));
  assert.equal(isMirror(), false);
  const { uid } = ncapp("web").metadata;
  const annotated = { annotations: { ...copy.annotations, [annotations.mirrorUid]: uid! } };
  cluster.apps.applyAnswer(ncapp("web", { nodeName: "a" }, undefined, annotated));
  assert.equal(isMirror(), true);
});

test("apps of another scheduler and apps that are being deleted do not wait", () => {
  const { cluster, apply, takeCalls } = createTestCluster();
  apply("foreign", { schedulerName: "other" });
  const going = ncapp("going");
  going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  cluster.apps.apply(going);
  assert.deepEqual(takeCalls(), ["default/foreign settled", "default/going settled"]);
});

test("an app that a request found gone comes back neither by a late answer nor by a late event", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  const late = ncapp("web", { cpuPCT: 20, nodeName: "a" });
  cluster.apps.forget(key, "uid-web");
  takeCalls();
  cluster.apps.applyAnswer(late);
  cluster.apps.apply(late);
  assert.deepEqual([cluster.apps.get(key), takeCalls()], [undefined, []]);
});

test("a rewound list is applied though its versions are lower", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  const old = ncapp("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20, nodeName: "a" });
  takeCalls();
  cluster.replaceApps([old], old.metadata.resourceVersion!);
  assert.equal(cluster.apps.get(key)?.nodeName, "a", "it did not go back");
  cluster.replaceApps([old], old.metadata.resourceVersion!, true);
  assert.deepEqual([cluster.apps.get(key)?.nodeName, takeCalls()], [undefined, [`${key} waits, changed`]]);
  assert.equal(cluster.snapshot.nodeOf(key, "leaving")?.name, "a", "its agent has yet to stop it");
});

test("a new status alone is not a changed request", () => {
  const { apply, takeCalls } = createTestCluster();
  apply("web", { cpuPCT: 20 });
  apply("web", { cpuPCT: 20 }, { phase: "Pending" });
  assert.deepEqual(takeCalls(), [`${key} waits, changed`, `${key} waits`]);
});

test("an assumed bind counts until the API server shows it, and not twice then", () => {
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

test("a failed bind frees its share", () => {
  const { cluster, apply, takeEvents } = createTestCluster(["a"]);
  apply("web", { cpuPCT: 20 });
  cluster.apps.assume(cluster.apps.get(key)!, "a");
  takeEvents();
  cluster.apps.forgetAssumed(key);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
  assert.deepEqual(takeEvents(), ["capacity a", "quota default"]);
});

test("if another scheduler's bind won, only that one counts", () => {
  const { cluster, apply } = createTestCluster(["a", "b"]);
  apply("web", { cpuPCT: 20 });
  cluster.apps.assume(cluster.apps.get(key)!, "a");
  apply("web", { cpuPCT: 20, nodeName: "b" });
  cluster.apps.forgetAssumed(key);
  assert.deepEqual([cluster.snapshot.node("a")?.usedCpu, cluster.snapshot.node("b")?.usedCpu], [0, 20_000]);
});

test("a list removes apps that it does not have, even if their name was reused", () => {
  const { cluster, apply, takeCalls } = createTestCluster(["a"]);
  apply("gone", { nodeName: "a", cpuPCT: 10 });
  apply("web", { nodeName: "a", cpuPCT: 20 });
  takeCalls();
  const again = ncapp("web");
  again.metadata.uid = "another";
  cluster.replaceApps([again], again.metadata.resourceVersion!);
  assert.deepEqual(takeCalls(), ["default/gone settled", `${key} settled`, `${key} waits, changed`]);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});

test("apps that ended free their share; with a schedule or a changed spec they keep it", () => {
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

test("smaller caps free capacity", () => {
  const { apply, takeEvents } = createTestCluster(["a"]);
  apply("web", { nodeName: "a", cpuPCT: 50 });
  takeEvents();
  apply("web", { nodeName: "a", cpuPCT: 60 });
  assert.deepEqual(takeEvents(), []);
  apply("web", { nodeName: "a", cpuPCT: 20 });
  assert.deepEqual(takeEvents(), ["capacity a", "quota default"]);
});

test("PriorityClasses apply even if they arrive after the apps", () => {
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
  cluster.apps.removePriorityClass("silver");
  takeCalls();
  cluster.apps.applyPriorityClass(
    priorityClass("meek", 0, { globalDefault: true, preemptionPolicy: "Never" }),
  );
  assert.equal(cluster.apps.get("default/plain")?.preempts, false, "the priority is the same");
  assert.deepEqual(takeCalls(), ["default/plain waits, changed"]);
  cluster.apps.removePriorityClass("gold");
  assert.equal(cluster.apps.get(key)?.missingClass, true);
});
