import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { ncappPath, ncapps } from "../../../src/kube/resources.ts";
import { createReleases, releasePatch } from "../../../src/report/status/status.ts";
import { ncapp } from "../../builders.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { FakeClock, settled } from "../fake-clock.ts";
import { createTestLog } from "../test-log.ts";

const running: NCAppStatus = {
  phase: "Running",
  ready: true,
  pid: 7,
  nodeName: "node-a",
  conditions: [{ type: "Ready", status: "True" }, { type: "Scheduled", status: "True" }, {
    type: "Audited",
    status: "True",
  }],
};
const target = { namespace: "default", name: "web", uid: "uid-of-web" };

const setUp = (nodeName: string | undefined, status: NCAppStatus = running) => {
  const clock = new FakeClock();
  const server = new FakeApi();
  server.add(ncapps, ncapp({ metadata: { name: "web", uid: target.uid }, spec: { nodeName }, status }));
  const releases = createReleases({ client: server.client, node: "node-a", log: createTestLog(), clock });
  const stored = () => server.get(ncappPath("default", "web"));
  return { clock, server, releases, stored };
};

test("an unbound app is reported as stopping, then as stopped and let go, with conditions of others in place", async () => {
  const { releases, stored } = setUp(undefined);
  releases.stopping(target);
  await settled();
  const { status } = stored();
  assert.deepEqual([status.phase, status.reason, status.ready, status.nodeName], [
    "Stopping",
    "Unbound",
    false,
    "node-a",
  ]);
  releases.stopped(target);
  await settled();
  const last = stored().status;
  assert.deepEqual([last.phase, last.reason, last.nodeName, last.pid], ["Pending", "Unbound", "", undefined]);
  const conditions = last.conditions.map(({ type, status }: { type: string; status: string }) =>
    `${type}=${status}`
  );
  assert.deepEqual(conditions, ["Ready=False", "Scheduled=False", "Audited=True", "Reconciling=True"]);
});

test("a moved app is only let go: the rest is the report of its new agent", async () => {
  const status: NCAppStatus = { ...running, phase: "Pending", reason: "StillStopping" };
  const { releases, stored, server } = setUp("node-b", status);
  releases.stopping(target);
  await settled();
  assert.ok(server.asked.every(({ method }) => method === "GET"));
  releases.stopped(target);
  await settled();
  assert.deepEqual(stored().status, { ...status, nodeName: "" });
});

test("what a scheduler has written about an unbound app stays", () => {
  const status: NCAppStatus = { ...running, phase: "Pending", reason: "Preempted", conditions: [] };
  const app = ncapp({ metadata: { name: "web" }, status });
  assert.deepEqual(releasePatch(app, "node-a", { stopped: true, now: 0 }), { nodeName: "" });
});

test("an app that another node holds, or that is bound to this one again, is not let go", async () => {
  for (
    const [nodeName, holder] of [["node-b", "node-b"], ["node-a", "node-a"], ["node-b", undefined]] as const
  ) {
    const { releases, server } = setUp(nodeName, { ...running, nodeName: holder });
    releases.stopped(target);
    await settled();
    assert.deepEqual(server.takeAsked(), [`GET ${ncappPath("default", "web")}`]);
  }
});

test("a release is retried after conflicts and failures until the server has it", async () => {
  const { clock, releases, server, stored } = setUp(undefined);
  const faults = [409, 503, 0];
  server.intercept = ({ method }) => method === "PATCH" ? faults.shift() : undefined;
  releases.stopped(target);
  for (let second = 0; second < 60 && stored().status.nodeName; second++) await clock.advance(1000);
  assert.equal(stored().status.nodeName, "");
  assert.deepEqual(faults, []);
});

test("a release ends when the object is gone, when its name has another object, and when it is canceled", async () => {
  const { releases, server } = setUp(undefined);
  server.intercept = () => 404;
  releases.stopping(target);
  await settled();
  releases.stopped(target);
  await settled();
  assert.equal(server.asked.length, 1, "it is not asked for again");

  const other = setUp(undefined);
  other.releases.stopped({ ...target, uid: "uid-before" });
  await settled();
  assert.equal(other.stored().status.nodeName, "node-a");

  const canceled = setUp(undefined);
  canceled.server.intercept = ({ method }) =>
    method === "GET" ? void canceled.releases.cancel(target.uid) : undefined;
  canceled.releases.stopped(target);
  await settled();
  assert.equal(canceled.stored().status.nodeName, "node-a");
});
