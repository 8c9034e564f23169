import assert from "node:assert/strict";
import { test } from "node:test";
import { statusOf, withTransitions } from "../../src/supervisor/status.ts";
import { appWith, recordWith, runOf, start } from "./fixtures.ts";

const measured = {
  cpuPCT: 12.34,
  memPCT: 5,
  memoryBytes: 1024.4,
  cpuThrottledPCT: 0,
  processes: 2,
  oomKills: 1,
};

test("a running app shows its process, its use with one decimal, and its OOM kills of all runs", () => {
  const app = appWith({ cpuPCT: "20" });
  const record = recordWith({
    app,
    phase: "Running",
    reason: "Running",
    run: runOf(app),
    oomKills: 2,
    restarts: 1,
  });
  const status = statusOf({ record, ready: true, caps: { enforced: true }, measured });
  assert.deepEqual(
    [
      status.pid,
      status.cpuPCT,
      status.memPCT,
      status.memoryBytes,
      status.processes,
      status.oomKills,
      status.startTime,
    ],
    [100, "12.3", "5.0", 1024, 2, 3, new Date(start).toISOString().replace(".000Z", "Z")],
  );
  assert.equal(status.conditions?.find(({ type }) => type === "LimitsEnforced")?.reason, "Enforced");
});

test("a run whose script has ended shows a process that lives", () => {
  const app = appWith();
  const record = recordWith({ app, phase: "Running", run: runOf(app, { survivor: 102 }) });
  assert.equal(statusOf({ record, ready: true }).pid, 102);
});

test("an invalid edit is in the message and the generation; phase, readiness and its condition are as before", () => {
  const app = appWith();
  app.metadata.generation = 2;
  const record = recordWith({ app, phase: "Running", reason: "Running", run: runOf(app) });
  const before = statusOf({ record, ready: true });
  const status = statusOf({ record: { ...record, invalidEdit: "spec.cpuPCT: 200" }, ready: true });
  const message = "InvalidSpec: spec.cpuPCT: 200; the last valid spec stays in force";
  assert.deepEqual(status, { ...before, message });
  assert.equal(status.observedGeneration, 2);
  const waiting = recordWith({ message: "spec.suspend is true", invalidEdit: "spec.cpuPCT: 200" });
  assert.equal(statusOf({ record: waiting, ready: false }).message, `spec.suspend is true; ${message}`);
});

test("an app that waits shows no process and no use", () => {
  const status = statusOf({
    record: recordWith({ phase: "BackOff", reason: "Error" }),
    ready: false,
    measured,
  });
  assert.deepEqual([status.pid, status.cpuPCT, status.startTime], [undefined, undefined, undefined]);
});

test("limits that cannot be enforced are a condition with the exact cause", () => {
  const record = recordWith({
    reason: "LimitsUnavailable",
    message: "cpuPCT 20 cannot be enforced: no cgroup v2",
  });
  const condition = statusOf({ record, ready: false }).conditions?.find(({ type }) =>
    type === "LimitsEnforced"
  );
  assert.deepEqual([condition?.status, condition?.message], ["False", record.message]);
});

test("a condition keeps the time of its last change", () => {
  const record = recordWith({ phase: "Running" });
  const first = withTransitions(statusOf({ record, ready: false }), undefined, 1000);
  const same = withTransitions(statusOf({ record, ready: false }), first.conditions, 9000);
  const changed = withTransitions(statusOf({ record, ready: true }), same.conditions, 9000);
  const times = (status: typeof first) =>
    status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime);
  assert.deepEqual(times(same), ["1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z"]);
  assert.deepEqual(times(changed), ["1970-01-01T00:00:01Z", "1970-01-01T00:00:09Z"]);
});
