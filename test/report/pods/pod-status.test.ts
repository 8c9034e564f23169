import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "../../../src/api/validate/validate.ts";
import type { NCAppSpec, NCAppStatus } from "../../../src/api/types.ts";
import { podPhase, podStatus, type PodTimes, stateOf } from "../../../src/report/pods/pod-status.ts";
import { ncapp } from "../../builders.ts";

const now = Date.parse("2030-01-01T10:00:00Z");
const startTime = "2030-01-01T09:00:00Z";
const exit = {
  code: 7,
  reason: "Error",
  message: "broken pipe",
  startedAt: "2030-01-01T08:00:00Z",
  finishedAt: "2030-01-01T08:30:00Z",
};
const ended = { exitCode: 7, ...exit, code: undefined };
delete ended.code;

const statusFor = (
  status: NCAppStatus,
  { spec = {}, before = {} }: { spec?: NCAppSpec; before?: PodTimes } = {},
) =>
  podStatus(
    { app: { ...ncapp(), spec: applyDefaults(spec) }, status, started: status.phase === "Running" },
    { addresses: ["192.0.2.1"], size: { cpus: 4, memoryBytes: 8_000_000_000 } },
    before,
    now,
  );

/** What `kubectl get pods` shows, and the states of the container. */
const table: [what: string, NCAppStatus, { phase: string; state: object; lastState?: object }, NCAppSpec?][] =
  [
    ["a new app", { phase: "Pending" }, { phase: "Pending", state: { waiting: { reason: "Pending" } } }],
    [
      "an app that the operator of the node stopped",
      { phase: "Stopped", reason: "StoppedByOperator", message: "by hand", lastExit: exit },
      {
        phase: "Pending",
        state: { waiting: { reason: "StoppedByOperator", message: "by hand" } },
        lastState: { terminated: ended },
      },
    ],
    [
      "an app without a script",
      { phase: "Pending", reason: "NoShellFile", message: "no script" },
      { phase: "Pending", state: { waiting: { reason: "NoShellFile", message: "no script" } } },
    ],
    [
      "a first start",
      { phase: "Starting", reason: "Starting" },
      { phase: "Pending", state: { waiting: { reason: "Starting" } } },
    ],
    [
      "a restart",
      { phase: "Starting", reason: "Starting", lastExit: exit },
      { phase: "Running", state: { waiting: { reason: "Starting" } }, lastState: { terminated: ended } },
    ],
    ["a run", { phase: "Running", startTime }, {
      phase: "Running",
      state: { running: { startedAt: startTime } },
    }],
    [
      "a run after a failure",
      { phase: "Running", startTime, lastExit: exit, restarts: 3 },
      { phase: "Running", state: { running: { startedAt: startTime } }, lastState: { terminated: ended } },
    ],
    [
      "a stop",
      { phase: "Stopping", startTime, reason: "Suspended" },
      { phase: "Running", state: { running: { startedAt: startTime } } },
    ],
    [
      "a wait for the restart",
      { phase: "BackOff", reason: "Error", message: "restarting in 10 s", lastExit: exit },
      {
        phase: "Running",
        state: { waiting: { reason: "CrashLoopBackOff", message: "restarting in 10 s" } },
        lastState: { terminated: ended },
      },
    ],
    [
      "a wait for the schedule",
      { phase: "Pending", reason: "", nextRun: startTime, lastExit: exit },
      {
        phase: "Pending",
        state: { waiting: { reason: "Scheduled", message: `the next run is due at ${startTime}` } },
        lastState: { terminated: ended },
      },
      { schedule: "@daily" },
    ],
    ["a failure", { phase: "Failed", lastExit: exit }, { phase: "Failed", state: { terminated: ended } }],
    [
      "a kill",
      { phase: "Failed", lastExit: { code: 137, signal: "SIGKILL", reason: "OOMKilled" } },
      { phase: "Failed", state: { terminated: { exitCode: 137, signal: 9, reason: "OOMKilled" } } },
    ],
    [
      "an end of unknown status",
      { phase: "Failed", lastExit: { reason: "Lost" } },
      { phase: "Failed", state: { terminated: { exitCode: 137, reason: "Lost" } } },
    ],
    [
      "a success",
      { phase: "Succeeded", lastExit: { code: 0, reason: "Completed" } },
      { phase: "Succeeded", state: { terminated: { exitCode: 0, reason: "Completed" } } },
    ],
  ];

for (const [what, status, { phase, state, lastState = {} }, spec] of table) {
  test(`podStatus() shows ${what}`, () => {
    const shown = statusFor(status, { spec });
    assert.deepEqual(
      [shown.phase, shown.containerStatuses?.[0]?.state, shown.containerStatuses?.[0]?.lastState],
      [phase, state, lastState],
    );
    assert.equal(podPhase(status), phase);
    assert.equal(shown.containerStatuses?.[0]?.restartCount, status.restarts ?? 0);
  });
}

test("podStatus() says that an app stops, and why", () => {
  const { reason, message } = statusFor({ phase: "Stopping", startTime, reason: "Suspended" });
  assert.deepEqual([reason, message], ["Stopping", "Suspended"]);
});

test("podStatus() has the node's address as that of the Pod and of its host", () => {
  const { podIP, hostIP, podIPs } = statusFor({ phase: "Running", startTime });
  assert.deepEqual([podIP, hostIP, podIPs], ["192.0.2.1", "192.0.2.1", [{ ip: "192.0.2.1" }]]);
});

const conditionsOf = (status: NCAppStatus, before?: PodTimes) =>
  statusFor(status, { before }).conditions?.map(({ type, status, reason, lastTransitionTime }) =>
    [type, status, reason ?? "", lastTransitionTime].join(" ").replaceAll("2030-01-01T", "")
  );

test("podStatus() has the conditions of a Pod; each keeps its time while its status stays", () => {
  const readySince = "2030-01-01T09:30:00Z";
  const ready: NCAppStatus = {
    phase: "Running",
    startTime,
    ready: true,
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: readySince }],
  };
  assert.deepEqual(conditionsOf(ready), [
    "PodScheduled True  10:00:00Z",
    "Initialized True  10:00:00Z",
    "ContainersReady True  09:30:00Z",
    "Ready True  09:30:00Z",
  ]);
  const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: startTime,
  }));
  assert.deepEqual(conditionsOf(ready, { conditions })?.at(-1), "Ready True  09:00:00Z");
  assert.deepEqual(conditionsOf({ phase: "Running", startTime }, { conditions }), [
    "PodScheduled True  09:00:00Z",
    "Initialized True  09:00:00Z",
    "ContainersReady False ContainersNotReady 10:00:00Z",
    "Ready False ContainersNotReady 10:00:00Z",
  ]);
  assert.deepEqual(conditionsOf({ phase: "Succeeded" })?.at(-1), "Ready False PodCompleted 10:00:00Z");
  assert.deepEqual(conditionsOf({ phase: "Failed" })?.at(-1), "Ready False PodFailed 10:00:00Z");
});

test("stateOf() is the same for what the server adds and for the times that stay, and differs for each change", () => {
  const running: NCAppStatus = { phase: "Running", startTime, lastExit: exit, restarts: 1 };
  const status = statusFor(running);
  const stored = {
    ...status,
    podIPs: undefined,
    qosClass: "Burstable",
    startTime: "2029-01-01T00:00:00Z",
    conditions: [
      ...status.conditions!.map((condition) => ({
        ...condition,
        lastProbeTime: null!,
        lastTransitionTime: "x",
      })),
      { type: "DisruptionTarget", status: "False" },
    ].reverse(),
    containerStatuses: status.containerStatuses!.map((container) => ({ ...container, resources: {} })),
  };
  assert.equal(stateOf(stored), stateOf(status));
  const changes: NCAppStatus[] = [
    { ...running, phase: "Stopping" },
    { ...running, startTime: "2030-01-01T09:00:01Z" },
    { ...running, restarts: 2 },
    { ...running, ready: true },
    { ...running, lastExit: { ...exit, code: 8 } },
    { ...running, lastExit: { ...exit, message: "other" } },
  ];
  const states = changes.map((change) => stateOf(statusFor(change)));
  assert.equal(new Set([...states, stateOf(status)]).size, changes.length + 1);
  const usage = { ...running, cpuPCT: "12.0", memPCT: "3.0", memoryBytes: 5, processes: 9 };
  assert.equal(stateOf(statusFor(usage)), stateOf(status), "usage is no change");
});

test("podStatus() cuts a message that is longer than a kubelet allows, and writes no half characters", () => {
  const message = `${"x".repeat(4095)}😀`;
  const { containerStatuses } = statusFor({ phase: "Pending", reason: "Odd", message });
  const shown = containerStatuses?.[0]?.state?.waiting?.message ?? "";
  assert.equal(shown.length, 4096);
  assert.ok(shown.isWellFormed());
});
