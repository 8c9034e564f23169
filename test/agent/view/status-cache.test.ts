import assert from "node:assert/strict";
import { test } from "node:test";
import { createStatusCache } from "../../../src/agent/view/view.ts";
import { runHash } from "../../../src/supervisor/decide/decide.ts";
import type { SupervisedApp } from "../../../src/supervisor/supervisor.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { appWith } from "../../supervisor/fixtures.ts";

const record: AppRecord = {
  app: appWith({}),
  source: "socket",
  phase: "Running",
  reason: "Running",
  message: "",
  restarts: 2,
  failures: 0,
  oomKills: 0,
  run: {
    id: "r1",
    bootId: "boot-1",
    hash: runHash(appWith({})),
    createdAt: 0,
    leaf: "",
    startedAt: 1000,
    main: { pid: 4711, startTime: "1" },
  },
};

const app: SupervisedApp = { key: "default/web", record };

function cacheIn(bootId: string) {
  return createStatusCache({ meter: { latest: () => undefined }, bootId });
}

test("a run of this boot is shown with its process", () => {
  const { phase, ready, pid } = cacheIn("boot-1").of(app);
  assert.deepEqual({ phase, ready, pid }, { phase: "Running", ready: true, pid: 4711 });
});

test("a run of an earlier boot is not shown as running, and its process not at all", () => {
  const status = cacheIn("boot-2").of(app);
  const { phase, reason, ready, pid, startTime, restarts } = status;
  assert.deepEqual({ phase, reason, ready, pid, startTime, restarts }, {
    phase: "Pending",
    reason: "NodeRebooted",
    ready: false,
    pid: undefined,
    startTime: undefined,
    restarts: 2,
  });
});

test("a status is rebuilt when the record, the caps or the measurement changes, and only then", () => {
  const capped = { ...record, app: appWith({ cpuPCT: "20" }) };
  const known: SupervisedApp = { key: "default/web", record: capped, caps: { enforced: true } };
  let measured = { cpuPCT: 1, memPCT: 2, memoryBytes: 3, cpuThrottledPCT: 0, processes: 1 };
  const statuses = createStatusCache({
    meter: { latest: () => measured },
    bootId: "boot-1",
  });
  const first = statuses.of(known);
  assert.equal(statuses.of(known), first);
  measured = { ...measured, cpuPCT: 7 };
  assert.equal(statuses.of(known).cpuPCT, "7.0");
  known.record = { ...capped, restarts: 3 };
  assert.equal(statuses.of(known).restarts, 3);
  known.caps = { enforced: false, reason: "ResizePending", message: "too much is in use" };
  const enforced = statuses.of(known).conditions?.find(({ type }) => type === "LimitsEnforced");
  assert.deepEqual([enforced?.status, enforced?.reason], ["False", "ResizePending"]);
});

test("conditions keep the time of their last transition", () => {
  let [known, time] = [record, 0];
  const statuses = createStatusCache({
    meter: { latest: () => undefined },
    bootId: "boot-1",
    now: () => time,
  });
  const ready = () => statuses.of({ ...app, record: known }).conditions?.find(({ type }) => type === "Ready");
  const before = ready()?.lastTransitionTime;
  [known, time] = [{ ...record, restarts: 3 }, 60_000];
  assert.equal(ready()?.lastTransitionTime, before);
  known = { ...record, phase: "Failed", reason: "Error" };
  assert.notEqual(ready()?.lastTransitionTime, before);
});

test("an agent that starts does not make conditions look new: their times come from the record", () => {
  const run = { ...record.run!, startedAt: 60_000, readyAt: 90_000, ready: true };
  const timesOf = (record: AppRecord, now: number) => {
    const { conditions = [] } = createStatusCache({
      meter: { latest: () => undefined },
      bootId: "boot-1",
      now: () => now,
    })
      .of({ ...app, record, caps: { enforced: true } });
    return Object.fromEntries(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  };
  assert.deepEqual(timesOf({ ...record, run }, 600_000), {
    Scheduled: "1970-01-01T00:10:00Z",
    Ready: "1970-01-01T00:01:30Z",
    LimitsEnforced: "1970-01-01T00:01:00Z",
  });
  const lastExit = {
    reason: "Error" as const,
    startedAt: "1970-01-01T00:02:00Z",
    finishedAt: "1970-01-01T00:03:00Z",
  };
  const ended: AppRecord = { ...record, phase: "Failed", run: undefined, lastExit };
  assert.equal(timesOf(ended, 600_000).Ready, "1970-01-01T00:03:00Z");
  // A clock that was wrong then gives no time in the future.
  assert.equal(timesOf({ ...record, run }, 70_000).Ready, "1970-01-01T00:01:10Z");
});
