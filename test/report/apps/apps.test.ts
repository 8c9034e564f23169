import assert from "node:assert/strict";
import { test } from "node:test";
import { type Reason, reasons } from "../../../src/api/reasons.ts";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { ncappPath } from "../../../src/kube/resources.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { createAppReports, type ReportedApp, type ServerSink } from "../../../src/report/apps/apps.ts";
import { systemClock } from "../../../src/report/clock.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { appWith } from "../../supervisor/fixtures.ts";
import { waitFor } from "../../wait-for.ts";

const path = ncappPath("default", "job");
const noSink: ServerSink = { replace() {}, upsert() {}, remove() {} };

/** Reports of a local app that the test changes, with a clock for timestamps that stands. */
function reportsOfJob() {
  const api = new FakeApi();
  const apps = new Map<string, ReportedApp>();
  const time = { now: Date.UTC(2026, 0, 1) };
  const reports = createAppReports({
    client: api.client,
    node: "node-a",
    size: { cpus: 4, memoryBytes: 8_000_000_000 },
    log: silentLogger,
    reportPeriodMs: 10_000,
    mode: "never",
    clock: { ...systemClock, wall: () => time.now },
    apps: { get: (key) => apps.get(key), list: () => [...apps.values()], isOnHold: () => false },
  });
  const sink = reports.observe(noSink);
  const key = "default/job";
  const jobWith = (status: NCAppStatus): ReportedApp => ({
    key,
    app: appWith({}, { name: "job" }),
    isLocal: true,
    status,
    started: false,
    holder: "node-a",
    isPassing: false,
  });
  return {
    api,
    reports,
    time,
    change(status: NCAppStatus) {
      apps.set(key, jobWith(status));
      reports.changed(jobWith(status));
    },
    event: (reason: Reason) =>
      reports.event(jobWith({}), { type: "Normal", reason, message: `${reason} it` }),
    forget() {
      apps.delete(key);
      reports.forgotten(jobWith({}));
    },
    sink,
    list: () => sink.replace([]),
    /** What was posted as events of the job: reason, uid of its object, and time. */
    events: () =>
      api.asked.filter(({ method, path }) => method === "POST" && path.endsWith("/events"))
        .map(({ body }) => `${body.reason} ${body.involvedObject.uid} ${body.firstTimestamp}`),
    mirrored: () => waitFor("the mirror has a status", () => api.get(path)?.status?.phase !== undefined),
  };
}

test("a mirror gets the last status of its app, though that is idle, and the last ten events with their times", async () => {
  const { api, reports, time, change, event, list, events, mirrored } = reportsOfJob();
  change({ phase: "Running" });
  for (const reason of reasons.slice(0, 12)) event(reason);
  change({ phase: "Succeeded" });
  time.now += 3_600_000;
  list();
  await mirrored();
  const { metadata: { uid }, status } = api.get(path);
  await reports.close();
  assert.equal(status.phase, "Succeeded");
  assert.deepEqual(events(), reasons.slice(2, 12).map((reason) => `${reason} ${uid} 2026-01-01T00:00:00Z`));
});

test("the mirror of an app that was forgotten gets none of its earlier events", async () => {
  const { reports, change, event, forget, list, events, mirrored } = reportsOfJob();
  event("Started");
  forget();
  change({ phase: "Pending" });
  list();
  await mirrored();
  await reports.close();
  assert.deepEqual(events(), []);
});

test("another mirror gets the status again, and no event twice", async () => {
  const { api, reports, sink, change, event, forget, list, events, mirrored } = reportsOfJob();
  event("Started");
  change({ phase: "Succeeded" });
  list();
  await mirrored();
  const first = structuredClone(api.get(path));
  sink.upsert({ app: first });
  reports.syncMirrors(false);
  api.objects.delete(path);
  sink.remove("default/job", first.metadata.uid);
  reports.syncMirrors(false);
  await mirrored();
  const { uid } = api.get(path).metadata;
  event("Completed");
  forget();
  await reports.close();
  assert.deepEqual(events(), [
    `Started ${first.metadata.uid} 2026-01-01T00:00:00Z`,
    `Completed ${uid} 2026-01-01T00:00:00Z`,
  ]);
});
