import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { setImmediate } from "node:timers";
import { silentLogger } from "../../src/lib/log.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { SchedulingQueue } from "../../src/scheduler/queue/queue.ts";
import { createInbox } from "../../src/scheduler/inbox.ts";
import { type LoopOptions, runLoop } from "../../src/scheduler/loop.ts";
import { readBudget } from "../../src/api/placement/placement.ts";
import type { SchedulerApp } from "../../src/scheduler/types.ts";
import { priorityClass } from "./objects.ts";
import { createTestCluster } from "./test-cluster.ts";

/** A loop for one node, with this binder. */
function scene(binder: LoopOptions["binder"]) {
  const { cluster, apply } = createTestCluster(["a"]);
  const queue = new SchedulingQueue();
  const inbox = createInbox(cluster, queue);
  const unused = new Proxy({}, { get: () => () => {} });
  const options = {
    cluster,
    queue,
    inbox,
    log: silentLogger,
    metrics: createSchedulerMetrics(),
    binder,
    evictor: unused as LoopOptions["evictor"],
    writer: unused as LoopOptions["writer"],
    recorder: unused as LoopOptions["recorder"],
    policy: "spread" as const,
    maxBindsInFlight: 1,
  };
  return { apply, options };
}

test("an unexpected error in a bind ends the loop, not the process", async () => {
  const { apply, options } = scene({
    inFlight: 0,
    bind: () => Promise.reject(new Error("sums do not add up")),
  });
  apply("web");
  await assert.rejects(runLoop(options, AbortSignal.timeout(10_000)), /sums do not add up/);
});

test("decisions that take long leave the watches and the election their turns", async (t) => {
  let [time, decided, decidedBefore] = [0, 0, 0];
  t.mock.method(performance, "now", () => time);
  const all = new AbortController();
  const { apply, options } = scene({
    inFlight: 0,
    bind: async () => {
      time += 100;
      if (++decided === 10) all.abort();
    },
  });
  for (let at = 0; at < 10; at++) apply(`web-${at}`);
  setImmediate(() => decidedBefore = decided);
  await runLoop(options, AbortSignal.any([all.signal, AbortSignal.timeout(10_000)]));
  assert.deepEqual([decided, decidedBefore], [10, 1]);
});

test("a preempted app counts against its budget at once", async () => {
  const { apply, options } = scene({ inFlight: 0, bind: async () => {} });
  const { cluster } = options;
  const done = new AbortController();
  const evicted: string[] = [];
  const evict = async ({ key }: SchedulerApp) => (evicted.push(key), done.abort(), true);
  cluster.apps.applyPriorityClass(priorityClass("gold", 1000));
  cluster.budgets.set(readBudget({
    metadata: { namespace: "default", name: "all" },
    spec: { selector: {} },
    status: { disruptionsAllowed: 1, expectedPods: 2 },
  }));
  apply("low", { cpuPCT: "90", nodeName: "a" });
  apply("vip", { cpuPCT: "90", priorityClassName: "gold" });
  await runLoop({ ...options, evictor: { evict }, now: () => 0 }, done.signal);
  assert.deepEqual(evicted, ["default/low"]);
  const low = cluster.apps.get("default/low")!;
  assert.deepEqual(cluster.budgets.violations([low], 0), [low]);
});
