import assert from "node:assert/strict";
import { test } from "node:test";
import { summarize } from "../../../src/server/routes/routes.ts";
import { viewWith, web } from "../fake-agent.ts";

interface Summary {
  node: Record<string, Record<string, unknown>>;
  pods: {
    podRef: object;
    containers: { name: string; cpu: Record<string, number>; memory: Record<string, number> }[];
    process_stats: object;
  }[];
}

const now = new Date("2026-01-02T03:04:05Z");
const measured = { ...web, status: { ...web.status, cpuPCT: "10.0", startTime: "2026-01-01T00:00:00Z" } };

test("apps are pods with one container, in the kubelet's units", () => {
  const idle = { ...web, usage: undefined };
  const { pods } = summarize(viewWith({ apps: () => [measured, idle] }), now) as Summary;
  assert.equal(pods.length, 1);
  const [pod] = pods;
  assert.deepEqual(pod?.podRef, { name: "web", namespace: "default", uid: "uid-1" });
  const { name, cpu, memory } = pod!.containers[0]!;
  assert.equal(name, "web");
  // A tenth of four CPUs, and 12.5 s of one.
  assert.deepEqual([cpu.usageNanoCores, cpu.usageCoreNanoSeconds], [400_000_000, 12_500_000_000]);
  assert.deepEqual([memory.workingSetBytes, memory.availableBytes], [50_000_000, 50_000_000]);
  assert.deepEqual(pod?.process_stats, { process_count: 3 });
});

test("the node has the known figures, and no others", () => {
  const { node: unknown } = summarize(viewWith(), now) as Summary;
  assert.deepEqual(Object.keys(unknown).sort(), ["nodeName", "startTime"]);
  const usage = {
    time: 0,
    cpuSeconds: 100,
    cpuPCT: 50,
    memPCT: 25,
    memoryBytes: 250,
    memoryTotalBytes: 1000,
    memoryAvailableBytes: 750,
    threads: 99,
    maxThreads: Infinity,
    disk: { availableBytes: 10, totalBytes: 40, freeInodes: 3, inodes: 5 },
  };
  const { node } = summarize(viewWith({ nodeUsage: () => usage }), now) as Summary;
  assert.equal(node.cpu?.usageNanoCores, 2e9);
  assert.deepEqual([node.memory?.availableBytes, node.memory?.workingSetBytes], [750, 250]);
  assert.deepEqual([node.fs?.usedBytes, node.fs?.inodesUsed], [30, 2]);
  assert.deepEqual(node.rlimit, { time: now.toISOString(), curproc: 99 });
});
