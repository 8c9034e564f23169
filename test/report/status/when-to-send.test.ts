import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { refreshMs, whenToSend } from "../../../src/report/status/when-to-send.ts";

const running: NCAppStatus = {
  phase: "Running",
  reason: "Running",
  ready: true,
  restarts: 0,
  processes: 3,
  cpuPCT: "2.0",
  memPCT: "10.0",
  memoryBytes: 1000,
  cpuThrottledPCT: "0.0",
};
const times = { sentAt: 1_000_000, periodMs: 10_000 };
const decide = (wanted: NCAppStatus, seen: NCAppStatus | undefined = running) =>
  whenToSend({ seen, wanted, ...times });

test("whenToSend() sends nothing that the server already has", () => {
  assert.deepEqual(decide({ ...running }), { kind: "not" });
});

test("whenToSend() sends every change that is not usage at once", () => {
  const changes: NCAppStatus[] = [
    { phase: "Stopping" },
    { reason: "Updated" },
    { message: "because" },
    { ready: false },
    { restarts: 1 },
    { pid: 12 },
    { oomKills: 1 },
    { observedGeneration: 2 },
    { lastExit: { code: 1 } },
    { conditions: [{ type: "Ready", status: "True" }] },
    { nextRun: "2030-01-01T00:00:00Z" },
  ];
  for (const change of changes) {
    assert.deepEqual(decide({ ...running, ...change }), { kind: "now" }, JSON.stringify(change));
    assert.deepEqual(
      decide({ ...running, ...change, cpuPCT: "90.0" }),
      { kind: "now" },
      JSON.stringify(change),
    );
  }
});

test("whenToSend() sends the very first status at once", () => {
  assert.deepEqual(whenToSend({ seen: undefined, wanted: { phase: "Pending" }, ...times }), { kind: "now" });
});

test("whenToSend() sends usage that moved by a point once per period", () => {
  const afterPeriod = { kind: "later", at: times.sentAt + times.periodMs };
  for (
    const change of [{ cpuPCT: "3.0" }, { cpuPCT: "1.0" }, { memPCT: "11.0" }, { memPCT: "9.0" }, {
      cpuPCT: undefined,
    }]
  ) {
    assert.deepEqual(decide({ ...running, ...change }), afterPeriod, JSON.stringify(change));
  }
  assert.deepEqual(decide(running, { ...running, cpuPCT: undefined, memPCT: undefined }), afterPeriod);
});

test("whenToSend() keeps usage that moved by less, or that is no percentage, for the refresh", () => {
  const atRefresh = { kind: "later", at: times.sentAt + refreshMs };
  const changes: NCAppStatus[] = [
    { cpuPCT: "2.9" },
    { memPCT: "10.9", cpuPCT: "1.1" },
    { memoryBytes: 999_999 },
    { processes: 400 },
    { cpuThrottledPCT: "80.0" },
  ];
  for (const change of changes) {
    assert.deepEqual(decide({ ...running, ...change }), atRefresh, JSON.stringify(change));
  }
});

test("whenToSend() compares one decimal exactly: 0.2 to 1.2 is a point", () => {
  const at = (before: string, after: string) =>
    decide({ ...running, cpuPCT: after }, { ...running, cpuPCT: before });
  assert.deepEqual(at("0.2", "1.2"), { kind: "later", at: times.sentAt + times.periodMs });
  assert.deepEqual(at("0.3", "1.2"), { kind: "later", at: times.sentAt + refreshMs });
});
