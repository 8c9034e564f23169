import assert from "node:assert/strict";
import { test } from "node:test";
import { type Reason, reasons } from "../../../src/api/reasons.ts";
import type { NCAppStatus } from "../../../src/api/types.ts";
import type { EventNews } from "../../../src/report/events/event-aggregator.ts";
import { createLocalReports } from "../../../src/report/mirrors/local-reports.ts";
import type { ReportTarget } from "../../../src/report/status/status.ts";

const key = "default/job";
const mirror = (uid: string): ReportTarget => ({
  namespace: "default",
  name: "job",
  uid,
  resourceVersion: "7",
});
const succeeded: NCAppStatus = { phase: "Succeeded", ready: false };
const event = (reason: Reason): EventNews => ({ type: "Normal", reason, message: `${reason} it` });

const setUp = () => {
  const said: unknown[] = [];
  let target: ReportTarget | undefined;
  let time = 1000;
  const reports = createLocalReports({
    reporter: { report: (app, status, seen) => void said.push([app.uid, status.phase, seen]) },
    recorder: { record: ({ uid }, { reason, at }) => void said.push([uid, reason, at]) },
    targetOf: () => target,
    now: () => time++,
  });
  const find = (uid: string, seen?: NCAppStatus) => {
    target = mirror(uid);
    reports.found(key, target, seen);
  };
  return { reports, find, take: () => said.splice(0) };
};

test("found() sends a mirror the last status of its app, even if the app is idle, and the earlier events with their times", () => {
  const { reports, find, take } = setUp();
  reports.record(key, event("Started"));
  reports.report(key, { phase: "Running" });
  reports.record(key, event("Completed"));
  reports.report(key, succeeded);
  assert.deepEqual(take(), []);
  find("u1");
  assert.deepEqual(take(), [["u1", "Succeeded", {}], ["u1", "Started", 1000], ["u1", "Completed", 1001]]);
});

test("found() sends another mirror the status again, and no event twice", () => {
  const { reports, find, take } = setUp();
  reports.record(key, event("Started"));
  reports.report(key, succeeded);
  find("u1");
  take();
  find("u2", { phase: "Unknown" });
  assert.deepEqual(take(), [["u2", "Succeeded", { phase: "Unknown" }]]);
});

test("report() and record() go to the existing mirror", () => {
  const { reports, find, take } = setUp();
  find("u1");
  reports.report(key, succeeded);
  reports.record(key, event("Completed"));
  assert.deepEqual(take(), [["u1", "Succeeded", undefined], ["u1", "Completed", undefined]]);
  assert.deepEqual([reports.has(key), reports.has("default/other")], [true, false]);
});

test("record() keeps the last ten events of an app that has no mirror", () => {
  const { reports, find, take } = setUp();
  for (const reason of reasons.slice(0, 12)) reports.record(key, event(reason));
  find("u1");
  assert.deepEqual(
    take().map((words) => (words as string[])[1]),
    reasons.slice(2, 12),
  );
});

test("forget() leaves nothing to send to a later mirror", () => {
  const { reports, find, take } = setUp();
  reports.record(key, event("Started"));
  reports.report(key, succeeded);
  reports.forget(key);
  find("u1");
  assert.deepEqual(take(), []);
  assert.equal(reports.has(key), false);
});
