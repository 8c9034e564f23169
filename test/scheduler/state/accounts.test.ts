/** Apps that were unbound and may still be stopping: what they had stays taken, and they go nowhere else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppSpec, NCAppStatus } from "../../../src/api/types.ts";
import { placeApp } from "../../../src/scheduler/place/place.ts";
import { lease } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const key = "default/web";
/** As its agent writes it: about the spec that is there now. */
const running: NCAppStatus = { phase: "Running", observedGeneration: 1 };

/** A cluster in which `a` says what is free ten seconds after what it said last. */
function createScene() {
  const scene = createTestCluster(["a", "b"]);
  const { cluster, clock, beat, apply } = scene;
  return {
    ...scene,
    say: (free: number) => {
      clock.now += 10_000;
      beat("a", { free });
    },
    /** Binds an app to `a`, and takes it off again. */
    leave: (name: string, spec: NCAppSpec, status: NCAppStatus = running) => {
      apply(name, { ...spec, nodeName: "a" }, status);
      apply(name, spec, status);
    },
    leaving: () => [...cluster.snapshot.node("a")!.leaving.keys()],
    place: () =>
      placeApp(cluster.apps.get(key)!, cluster, {
        policy: "spread",
        random: () => 0,
        start: 0,
        now: clock.now,
      }),
  };
}

const caps = (percent: number): NCAppSpec => ({ cpuPCT: percent, memPCT: percent });

test("an app that leaves a live node keeps its share there until it has stopped", () => {
  const { cluster, apply, say, leaving, takeEvents } = createScene();
  say(80);
  apply("web", { nodeName: "a", ...caps(20) }, running);
  takeEvents();
  apply("web", caps(20), running);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  assert.equal(cluster.accounts.usage.of("default").cpu, 0);
  assert.deepEqual(leaving(), [key]);

  // The agent has not let go of it, then it has.
  say(80);
  assert.deepEqual(leaving(), [key]);
  takeEvents();
  say(100);
  assert.deepEqual(leaving(), []);
  assert.deepEqual(takeEvents().filter((line) => line.startsWith("stopped")), [`stopped ${key}`]);
});

test("without a report from the agent, a share is free 5 s after the grace period", () => {
  const { cluster, clock, leave } = createScene();
  leave("web", { cpuPCT: 20, terminationGracePeriodSeconds: 5 });
  clock.now += 9999;
  cluster.removeOverdue();
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
  clock.now += 1;
  cluster.removeOverdue();
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});

test("an app without caps is bound again, and its port is free, only after its grace period", () => {
  const { cluster, clock, leave, say, place } = createScene();
  leave("web", { ports: [{ port: 8080 }], terminationGracePeriodSeconds: 60 });
  for (const _ of Array(6)) {
    say(100);
    cluster.removeOverdue();
    const decision = place();
    assert.equal(decision.kind === "wait" && decision.message, "waiting until it has stopped on node a");
    assert.equal(cluster.snapshot.node("a")?.ports.size, 1);
  }
  clock.now += 5000;
  cluster.removeOverdue();
  assert.equal(place().kind, "bind");
  assert.equal(cluster.snapshot.node("a")?.ports.size, 0);
});

test("caps that rounding may hide prove nothing, and larger ones of either share do", () => {
  const { leave, say, leaving } = createScene();
  leave("hidden", caps(0.2));
  leave("cpu", { cpuPCT: 0.3 });
  leave("mem", { memPCT: 0.3 });
  // What 0.2 may look like at the least, the agent having rounded twice.
  say(99.9);
  assert.deepEqual(leaving(), ["default/hidden"]);
});

test("an app that has stopped proves nothing about a leaving app without caps", () => {
  const { leave, say, leaving } = createScene();
  leave("capped", caps(20));
  leave("free", {});
  say(100);
  assert.deepEqual(leaving(), ["default/free"]);
});

test("of several leaving apps none counts as stopped while the agent still has one of them", () => {
  const { leave, say, leaving } = createScene();
  leave("one", caps(20));
  leave("two", caps(20));
  say(80);
  assert.deepEqual(leaving(), ["default/one", "default/two"]);
});

test("an app that was just bound does not explain what the agent has promised to a leaving app", () => {
  const { apply, leave, say, leaving } = createScene();
  leave("web", caps(20));
  // The status is that of the node that it was on before.
  apply("next", { nodeName: "a", ...caps(20) }, { phase: "Running", observedGeneration: 0 });
  say(80);
  assert.deepEqual(leaving(), [key]);
  // Its agent has it, and the other one no more.
  apply("next", { nodeName: "a", ...caps(20) }, running);
  say(80);
  assert.deepEqual(leaving(), []);
});

test("an app that ended or cannot start does not explain what the agent has promised to a leaving app", () => {
  for (
    const status of [
      { phase: "Succeeded", observedGeneration: 1 },
      { phase: "Pending", reason: "InvalidSpec", observedGeneration: 1 },
    ] satisfies NCAppStatus[]
  ) {
    const { apply, leave, say, leaving } = createScene();
    leave("web", caps(20));
    apply("other", { nodeName: "a", schedule: "@daily", ...caps(20) }, status);
    say(80);
    assert.deepEqual(leaving(), [key], status.phase);
  }
});

test("an agent that has promised less than the running apps have proves nothing", () => {
  const { apply, leave, say, leaving } = createScene();
  apply("other", { nodeName: "a", ...caps(30) }, running);
  leave("web", caps(20));
  say(80);
  assert.deepEqual(leaving(), [key]);
  say(70);
  assert.deepEqual(leaving(), []);
});

test("a node with nothing free may be overcommitted, which proves nothing", () => {
  const { apply, leave, say, leaving } = createScene();
  apply("other", { nodeName: "a", ...caps(100) }, running);
  leave("web", caps(20));
  say(0);
  assert.deepEqual(leaving(), [key]);
});

test("an app that was just bound is leaving too: its agent may have started it without reporting that yet", () => {
  const { leave, say, leaving } = createScene();
  leave("new", { cpuPCT: 20 }, { phase: "Pending", reason: "Unschedulable" });
  say(100);
  assert.deepEqual(leaving(), ["default/new"]);
});

test("a report that is listed again may be older than the leaving app and proves nothing", () => {
  const { cluster, clock, leave, say, leaving } = createScene();
  say(100);
  leave("web", caps(20));
  cluster.liveness.replaceLeases([lease("a", clock.now, { free: 100 })]);
  assert.deepEqual(leaving(), [key]);
});

test("an app that has ended, was deleted, or was on a lost node keeps no share", () => {
  const { cluster, clock, apply, leave, leaving } = createScene();
  leave("done", { cpuPCT: 20 }, { phase: "Succeeded" });
  assert.deepEqual(leaving(), []);
  apply("web", { nodeName: "a", cpuPCT: 20 }, running);
  cluster.apps.remove(key, "uid-web");
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
  apply("lost", { nodeName: "a", cpuPCT: 20 }, { phase: "Unknown" });
  clock.now += 41_000;
  cluster.liveness.check();
  apply("lost", { cpuPCT: 20 }, running);
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});

test("setting the clock back does not keep a share for longer", () => {
  const { cluster, clock, leave } = createScene();
  leave("web", { cpuPCT: 20, terminationGracePeriodSeconds: 5 });
  clock.corrected = -3_600_000;
  clock.now += 10_000;
  cluster.removeOverdue();
  assert.equal(cluster.snapshot.node("a")?.usedCpu, 0);
});
