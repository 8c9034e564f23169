import assert from "node:assert/strict";
import { test } from "node:test";
import { freeShares } from "../../../src/agent/node/node.ts";
import { appWith, recordWith, runOf } from "../../supervisor/fixtures.ts";

const none = { cpuPCT: 0, memPCT: 0 };
const apps = [
  { record: recordWith({ app: appWith({ cpuPCT: "20%", memPCT: 10 }) }) },
  { record: recordWith({ app: appWith({ cpuPCT: "12.5" }) }) },
  { record: recordWith({ app: appWith({ cpuPCT: "" }) }) },
];

test("freeShares() is what the caps of all apps and the reserve leave", () => {
  assert.deepEqual(freeShares([], none), { cpuPCT: 100, memPCT: 100 });
  assert.deepEqual(freeShares(apps, { cpuPCT: 10, memPCT: 5 }), { cpuPCT: 57.5, memPCT: 85 });
});

test("freeShares() counts no app that has ended for good", () => {
  const done = { record: recordWith({ app: appWith({ cpuPCT: 90 }), phase: "Succeeded" }) };
  assert.deepEqual(freeShares([done], none), { cpuPCT: 100, memPCT: 100 });
});

test("freeShares() counts a deleted app until it has stopped, however long its object stays", () => {
  const app = appWith({ cpuPCT: 90 });
  const deleted = { ...app, metadata: { ...app.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const stopping = { record: recordWith({ app: deleted, phase: "Stopping", run: runOf(app) }) };
  assert.deepEqual(freeShares([stopping], none), { cpuPCT: 10, memPCT: 100 });
  assert.deepEqual(freeShares([{ record: recordWith({ app: deleted }) }], none), {
    cpuPCT: 100,
    memPCT: 100,
  });
});

test("freeShares() is never below nothing, and passes over caps that make no sense", () => {
  const greedy = { record: recordWith({ app: appWith({ cpuPCT: 90 }) }) };
  const broken = { record: recordWith({ app: appWith({ cpuPCT: "abc" }), invalid: "spec.cpuPCT" }) };
  assert.deepEqual(freeShares([...apps, greedy, broken], none), { cpuPCT: 0, memPCT: 90 });
});
