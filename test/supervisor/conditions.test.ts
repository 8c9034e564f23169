import assert from "node:assert/strict";
import { test } from "node:test";
import { ncapp as ncappSchema } from "../../src/api/schema/schema.ts";
import type { NCAppSpec } from "../../src/api/types.ts";
import { statusOf, withTransitions } from "../../src/supervisor/status.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { kstatus, type Verdict } from "../kstatus.ts";
import { appWith, recordWith, runOf } from "./fixtures.ts";

const generation = 3;
const probe = { tcpSocket: { port: 80 } };

type Scene = Omit<Partial<AppRecord>, "app" | "run"> & { spec?: NCAppSpec; runs?: object; deleted?: boolean };

/** The app as the server has it after its agent's report. */
function reported({ spec = {}, runs, deleted, ...fields }: Scene) {
  const metadata = { generation, ...(deleted ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}) };
  const app = appWith(spec, metadata);
  const record = recordWith({ app, ...(runs ? { run: runOf(app, runs) } : {}), ...fields });
  return { metadata, status: withTransitions(statusOf({ record }), undefined, 0) };
}

const running = { phase: "Running", reason: "Running", runs: {} } as const;
const states: [what: string, app: Parameters<typeof kstatus>[0], verdict: Verdict, conditions?: string][] = [
  [
    "that nobody has seen",
    { metadata: { generation: 1 }, status: ncappSchema.properties.status.default },
    "InProgress",
  ],
  ["that starts", reported({ phase: "Starting", reason: "Starting" }), "InProgress"],
  ["whose script is missing", reported({ phase: "Pending", reason: "ScriptNotFound" }), "InProgress"],
  ["that is not ready yet", reported({ ...running, spec: { readinessProbe: probe } }), "InProgress"],
  ["that runs", reported(running), "Current", "Scheduled=True Ready=True"],
  [
    "that waits for its restart",
    reported({ phase: "BackOff", reason: "Error" }),
    "InProgress",
    "Scheduled=True Ready=False Reconciling=True",
  ],
  [
    "that has failed",
    reported({ phase: "Failed", reason: "Error" }),
    "Failed",
    "Scheduled=True Ready=False Stalled=True Failed=True",
  ],
  [
    "that has succeeded",
    reported({ phase: "Succeeded", reason: "Completed" }),
    "Current",
    "Scheduled=True Complete=True",
  ],
  [
    "that waits for its schedule",
    reported({ phase: "Pending", reason: "Scheduled", spec: { schedule: "@daily" } }),
    "Current",
    "Scheduled=True",
  ],
  [
    "whose scheduled run is not ready",
    reported({ ...running, spec: { schedule: "@daily", readinessProbe: probe } }),
    "Current",
  ],
  [
    "that is suspended",
    reported({ phase: "Stopped", reason: "Suspended", spec: { suspend: true } }),
    "Current",
    "Scheduled=True Suspended=True",
  ],
  [
    "that an operator stopped",
    reported({ phase: "Stopped", reason: "StoppedByOperator" }),
    "InProgress",
    "Scheduled=True Ready=False",
  ],
  [
    "with an invalid edit, which runs on",
    reported({ ...running, invalidEdit: "spec.cpuPCT: 200" }),
    "Failed",
  ],
  [
    "whose new version was refused",
    reported({
      ...running,
      refused: { app: appWith({}, { generation }), reason: "Error", message: "it crashed", at: 0 },
    }),
    "Failed",
    "Scheduled=True Ready=True Stalled=True RolledBack=True",
  ],
  ["that is being deleted", reported({ phase: "Stopping", deleted: true }), "Terminating"],
  [
    "that was edited",
    { ...reported(running), metadata: { generation: generation + 1 } },
    "InProgress",
  ],
];

for (const [what, app, verdict, conditions] of states) {
  test(`kstatus: an app ${what} is ${verdict}`, () => {
    const { conditions: list = [] } = app.status ?? {};
    assert.equal(kstatus(app), verdict, JSON.stringify(list));
    if (conditions) assert.equal(list.map(({ type, status }) => `${type}=${status}`).join(" "), conditions);
  });
}

test("every condition says which generation it describes", () => {
  const without = states.slice(1).flatMap(([what, { status }]) =>
    (status?.conditions ?? []).filter((condition) =>
      !("observedGeneration" in condition) || condition.observedGeneration !== generation
    ).map(({ type }) => `${type} of an app ${what}`)
  );
  assert.deepEqual(without, []);
});
