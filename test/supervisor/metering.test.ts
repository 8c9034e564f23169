import assert from "node:assert/strict";
import { test } from "node:test";
import { measure } from "../../src/supervisor/metering.ts";

const usage = { cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 0, processes: 1 };
const node = { cpus: 4, memoryBytes: 1000 };

test("use is a share of the whole node", () => {
  const measured = measure({ at: 0, usage }, {
    at: 10_000,
    usage: { ...usage, cpuSeconds: 20, throttledSeconds: 2.5, memoryBytes: 125 },
  }, node);
  assert.deepEqual([measured.cpuPCT, measured.memPCT, measured.cpuThrottledPCT], [50, 12.5, 25]);
});

test("counters that went back, and throttling on many CPUs at once, give no nonsense", () => {
  const before = { at: 0, usage: { ...usage, cpuSeconds: 9 } };
  const measured = measure(
    before,
    { at: 2000, usage: { ...usage, cpuSeconds: 1, throttledSeconds: 30 } },
    node,
  );
  assert.deepEqual([measured.cpuPCT, measured.cpuThrottledPCT], [0, 100]);
});

test("one reading, or two that are too close, give no rate", () => {
  const after = { at: 1999, usage: { ...usage, cpuSeconds: 9, memoryBytes: 125 } };
  for (const before of [undefined, { at: 0, usage }]) {
    const { cpuPCT, cpuThrottledPCT, memPCT } = measure(before, after, node);
    assert.deepEqual([cpuPCT, cpuThrottledPCT, memPCT], [undefined, undefined, 12.5]);
  }
});
