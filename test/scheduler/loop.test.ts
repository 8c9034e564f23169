import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../src/lib/log.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { SchedulingQueue } from "../../src/scheduler/queue/queue.ts";
import { createInbox } from "../../src/scheduler/inbox.ts";
import { type LoopOptions, runLoop } from "../../src/scheduler/loop.ts";
import { createTestCluster } from "./test-cluster.ts";

test("an unexpected error in a bind ends the loop, not the process", async () => {
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
    binder: { inFlight: 0, bind: () => Promise.reject(new Error("sums do not add up")) },
    evictor: unused as LoopOptions["evictor"],
    writer: unused as LoopOptions["writer"],
    recorder: unused as LoopOptions["recorder"],
    policy: "spread" as const,
    maxBindsInFlight: 1,
  };
  apply("web");
  await assert.rejects(runLoop(options, AbortSignal.timeout(10_000)), /sums do not add up/);
});
