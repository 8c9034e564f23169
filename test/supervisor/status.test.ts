import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppSpec } from "../../src/api/types.ts";
import { holderOf, isPassing, statusOf, withTransitions } from "../../src/supervisor/status.ts";
import { appWith, killCounts, recordWith, runOf, start } from "./fixtures.ts";

const measured = {
  cpuPCT: 12.34,
  memPCT: 5,
  memoryBytes: 1024.4,
  cpuThrottledPCT: 0,
  processes: 2,
  kills: killCounts(1),
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
  const status = statusOf({ record, caps: { enforced: true }, measured });
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
  assert.equal(statusOf({ record }).pid, 102);
});

test("an invalid edit is in the message, the generation and a condition; phase, readiness and its condition are as before", () => {
  const app = appWith();
  app.metadata.generation = 2;
  const record = recordWith({ app, phase: "Running", reason: "Running", run: runOf(app) });
  const before = statusOf({ record });
  const status = statusOf({ record: { ...record, invalidEdit: "spec.cpuPCT: 200" } });
  const message = "InvalidSpec: spec.cpuPCT: 200; the last valid spec stays in force";
  const stalled = {
    type: "Stalled",
    status: "True",
    reason: "InvalidSpec",
    message: message.slice("InvalidSpec: ".length),
    observedGeneration: 2,
  } as const;
  assert.deepEqual(status, { ...before, message, conditions: [...before.conditions ?? [], stalled] });
  assert.equal(status.observedGeneration, 2);
  const waiting = recordWith({ message: "spec.suspend is true", invalidEdit: "spec.cpuPCT: 200" });
  assert.equal(statusOf({ record: waiting }).message, `spec.suspend is true; ${message}`);
});

test("an app that waits shows no process and no use", () => {
  const status = statusOf({
    record: recordWith({ phase: "BackOff", reason: "Error" }),
    measured,
  });
  assert.deepEqual([status.pid, status.cpuPCT, status.startTime], [undefined, undefined, undefined]);
});

test("a scheduled app shows when a run last completed, another app does not", () => {
  const lastSuccess = "2030-01-01T00:00:00Z";
  const shown = (spec: NCAppSpec) =>
    statusOf({ record: recordWith({ app: appWith(spec), lastSuccess }) }).lastSuccess;
  assert.deepEqual([shown({ schedule: "@daily" }), shown({})], [lastSuccess, undefined]);
});

test("limits that cannot be enforced are a condition with the exact cause", () => {
  const record = recordWith({
    reason: "LimitsUnavailable",
    message: "cpuPCT 20 cannot be enforced: no cgroup v2",
  });
  const condition = statusOf({ record }).conditions?.find(({ type }) => type === "LimitsEnforced");
  assert.deepEqual([condition?.status, condition?.message], ["False", record.message]);
});

test("an app without caps says what its node cannot do without cgroups", () => {
  const message = "no cgroup v2; a process may be lost";
  const caps = { enforced: false, reason: "LimitsUnavailable", message } as const;
  const record = recordWith({ phase: "Running" });
  const condition = statusOf({ record, caps }).conditions?.find(({ type }) => type === "LimitsEnforced");
  assert.deepEqual([condition?.status, condition?.reason, condition?.message], ["True", "NoLimits", message]);
});

test("a condition keeps the time of its last change", () => {
  const unready = statusOf({ record: recordWith({ phase: "Starting" }) });
  const ready = statusOf({ record: recordWith({ phase: "Running", run: runOf(appWith()) }) });
  const first = withTransitions(unready, undefined, 1000);
  const same = withTransitions(unready, first.conditions, 9000);
  const changed = withTransitions(ready, same.conditions, 9000);
  const corrected = withTransitions(ready, changed.conditions, 5000);
  const times = (status: typeof first) =>
    status.conditions?.slice(0, 2).map(({ lastTransitionTime }) => lastTransitionTime);
  assert.deepEqual(times(same), ["1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z"]);
  assert.deepEqual(times(changed), ["1970-01-01T00:00:01Z", "1970-01-01T00:00:09Z"]);
  // The clock was set back.
  assert.deepEqual(times(corrected), ["1970-01-01T00:00:01Z", "1970-01-01T00:00:05Z"]);
});

test("holderOf() is the node while a run exists or may start, empty after a deletion, and silent while another node holds it", () => {
  const record = recordWith();
  const deleted = {
    ...record.app,
    metadata: { ...record.app.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  };
  const run = runOf(record.app);
  assert.equal(holderOf(record, "node-a"), "node-a");
  assert.equal(holderOf({ ...record, app: deleted, run }, "node-a"), "node-a");
  assert.equal(holderOf({ ...record, app: deleted }, "node-a"), "");
  assert.equal(holderOf({ ...record, app: deleted, heldBy: "node-b" }, "node-a"), undefined);
  assert.equal(holderOf({ ...record, heldBy: "node-b", run }, "node-a"), "node-a");
});

test("a run of an earlier spec is not ready, although it still runs; a restart that was requested is reported", () => {
  const app = appWith({ shellFile: "/opt/v1.sh" });
  const record = recordWith({ app, phase: "Running", run: runOf(app) });
  assert.equal(statusOf({ record }).ready, true);
  assert.equal(
    statusOf({ record: { ...record, app: appWith({ shellFile: "/opt/v1.sh", cpuPCT: "50" }) } }).ready,
    true,
  );
  assert.equal(statusOf({ record: { ...record, app: appWith({ shellFile: "/opt/v2.sh" }) } }).ready, false);
  const restarted = appWith({ shellFile: "/opt/v1.sh" });
  restarted.metadata.annotations = { "app.example.com/restartedAt": "now" };
  assert.equal(statusOf({ record: { ...record, app: restarted } }).ready, false);
  assert.equal(statusOf({ record }).observedRestartedAt, undefined);
  assert.equal(statusOf({ record: { ...record, app: restarted } }).observedRestartedAt, "now");
});

test("how a run of an earlier spec failed is not shown with the generation of the new one", () => {
  const app = appWith({ shellFile: "/opt/v1.sh" });
  const lastHash = runOf(app).hash;
  for (const phase of ["BackOff", "Failed", "Succeeded"] as const) {
    const record = recordWith({ app, phase, reason: "Error", message: "status 1", lastHash });
    assert.equal(statusOf({ record }).phase, phase);
    const changed = { ...record, app: appWith({ shellFile: "/opt/v2.sh" }) };
    const status = statusOf({ record: changed });
    assert.deepEqual([status.phase, status.reason, status.message], ["Pending", "", ""]);
    const capped = { ...record, app: appWith({ shellFile: "/opt/v1.sh", cpuPCT: "5" }) };
    assert.equal(statusOf({ record: capped }).phase, phase);
  }
});

test("starts, stops and runs that are about to be replaced or measured pass; what may last does not", () => {
  const app = appWith();
  const caps = { enforced: true } as const;
  const current = recordWith({ app, phase: "Running", reason: "Running", run: runOf(app) });
  assert.ok(isPassing({ record: current }));
  assert.ok(isPassing({ record: { ...current, run: runOf(app, { hash: "before" }) }, caps }));
  const states = [
    ["Pending", "", true],
    ["Starting", "Starting", true],
    ["Stopping", "Updated", true],
    ["Pending", "Stopped", true],
    ["Running", "Running", false],
    ["Pending", "UnknownUser", false],
    ["BackOff", "Error", false],
    ["Failed", "Error", false],
    ["Succeeded", "Completed", false],
    ["Stopped", "Suspended", false],
  ] as const;
  for (const [phase, reason, passes] of states) {
    assert.equal(isPassing({ record: { ...current, phase, reason }, caps }), passes, `${phase} ${reason}`);
  }
});
