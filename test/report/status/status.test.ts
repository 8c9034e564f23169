import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { ncappPath, ncapps } from "../../../src/kube/resources.ts";
import { createStatusReporter, type ReportTarget } from "../../../src/report/status/status.ts";
import { ncapp } from "../../builders.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";
import { FakeClock, settled } from "../fake-clock.ts";
import { createTestLog } from "../test-log.ts";

const minute = 60_000;
const running: NCAppStatus = {
  phase: "Running",
  ready: true,
  restarts: 0,
  cpuPCT: "1.0",
  memPCT: "5.0",
  processes: 2,
};

/** NCApps in one namespace, by name. */
class TestServer extends FakeApi {
  get patches() {
    return this.asked.filter(({ method }) => method === "PATCH");
  }

  addApp(name: string, status?: NCAppStatus, uid = `uid-of-${name}`) {
    const spec = { nodeName: "node-a" };
    return this.add(ncapps, ncapp({ metadata: { name, uid }, spec, status }));
  }

  app(name: string) {
    return this.get(ncappPath("default", name));
  }
}

const setUp = ({ random = () => 0 }: { random?: () => number } = {}) => {
  const clock = new FakeClock();
  const server = new TestServer();
  const log = createTestLog();
  const reporter = createStatusReporter({
    client: server.client,
    node: "node-a",
    log,
    clock,
    reportPeriodMs: 10_000,
    random,
  });
  return { clock, server, log, reporter };
};
const refTo = (
  { metadata: { namespace, name, uid, resourceVersion } }: ReturnType<typeof ncapp>,
): ReportTarget => ({
  namespace,
  name,
  uid,
  resourceVersion,
});

test("report() patches the status with uid, version and only what differs, as a merge patch of high priority", async () => {
  const { server, reporter } = setUp();
  const app = server.addApp("web", running);
  reporter.report(refTo(app), { ...running, phase: "Stopping" }, running);
  await settled();
  // A merge patch is the client's default.
  const { method, path, contentType, body, priority } = server.asked[0]!;
  assert.deepEqual({ method, path, contentType, priority }, {
    method: "PATCH",
    path: "/apis/app.example.com/v1alpha1/namespaces/default/ncapps/web/status",
    contentType: undefined,
    priority: "high",
  });
  assert.deepEqual(body, {
    metadata: { uid: "uid-of-web", resourceVersion: app.metadata.resourceVersion },
    status: { phase: "Stopping" },
  });
});

test("report() causes no request for a thousand idle apps after an agent start, nor later", async () => {
  const { clock, server, reporter } = setUp();
  for (let number = 0; number < 1000; number++) server.addApp(`app${number}`, { ...running });
  for (let round = 0; round < 3; round++) {
    for (const app of server.objects.values()) reporter.report(refTo(app), { ...running }, app.status);
    await clock.advance(10 * minute);
  }
  assert.equal(server.asked.length, 0);
});

test("report() sends usage that moves a little once in five minutes, with low priority", async () => {
  const { clock, server, reporter } = setUp();
  server.addApp("web", running);
  for (let round = 0; round < 90; round++) {
    const status = { ...running, cpuPCT: round % 2 ? "1.1" : "1.4", memoryBytes: 1000 + round };
    reporter.report(refTo(server.app("web")), status, running);
    await clock.advance(10_000);
  }
  assert.equal(server.patches.length, 3);
  assert.deepEqual([...new Set(server.patches.map(({ priority }) => priority))], ["low"]);
});

test("report() retries after failures, with the newest state and growing waits", async () => {
  const { clock, server, reporter, log } = setUp();
  server.addApp("web");
  server.intercept = (request) => {
    if (server.asked.length <= 4) {
      throw problem(request, [500, 503, 401, undefined][server.asked.length - 1], "Broken");
    }
  };
  reporter.report(refTo(server.app("web")), { phase: "Starting" }, {});
  const times: number[] = [];
  for (let second = 0; second < 20; second++) {
    const before = server.asked.length;
    await clock.advance(1000);
    if (server.asked.length > before) times.push(second);
    if (second === 2) reporter.report(refTo(server.app("web")), { phase: "Running" }, {});
  }
  assert.deepEqual(times, [0, 2, 6, 14]);
  assert.deepEqual(server.app("web").status, { phase: "Running" });
  assert.ok(log.lines.every((line) => line.startsWith("warn status reports fail for one app")));
});

test("report() never touches an object that was recreated under the same name", async () => {
  const { clock, server, reporter } = setUp();
  const old = refTo(server.addApp("web", undefined, "old"));
  server.addApp("web", undefined, "new");
  reporter.report(old, { phase: "Running" }, {});
  await clock.advance(20 * minute);
  assert.equal(server.app("web").status, undefined);
  assert.deepEqual(server.asked.map(({ method }) => method), ["PATCH", "GET"]);

  reporter.report(refTo(server.app("web")), { phase: "Starting" }, {});
  await settled();
  assert.deepEqual(server.app("web").status, { phase: "Starting" });
});

test("report() does not write an object that was unbound, or bound elsewhere, before the agent knows", async () => {
  for (const nodeName of ["node-b", undefined]) {
    const { clock, server, reporter } = setUp();
    const app = refTo(server.addApp("web", running));
    const theirs = { phase: "Starting" } as const;
    server.touch(
      ncappPath("default", "web"),
      (object) => Object.assign(object, { spec: { nodeName }, status: theirs }),
    );
    reporter.report(app, { ...running, phase: "Stopping" }, running);
    await clock.advance(minute);
    reporter.report(app, { phase: "Failed" });
    await clock.advance(20 * minute);
    assert.deepEqual(server.app("web").status, theirs);
    assert.deepEqual(server.asked.map(({ method }) => method), ["PATCH", "GET"]);
  }
});

test("objectLost() ends the reports of an app without a request, until it is seen bound to this node again", async () => {
  const { clock, server, reporter } = setUp();
  server.addApp("web", running);
  reporter.report(refTo(server.app("web")), running, running);
  reporter.objectLost({ ...refTo(server.app("web")), uid: "another" });
  reporter.report(refTo(server.app("web")), { ...running, phase: "Stopping" });
  await settled();
  assert.equal(server.patches.length, 1);
  reporter.objectLost(refTo(server.app("web")));
  reporter.report(refTo(server.app("web")), { phase: "Failed" });
  await clock.advance(20 * minute);
  assert.equal(server.asked.length, 1);
  reporter.objectSeen(refTo(server.app("web")), server.app("web").status);
  await settled();
  assert.equal(server.app("web").status?.phase, "Failed");
});

test("report() reads the object before it writes if it knows no version", async () => {
  const { clock, server, reporter } = setUp();
  server.addApp("web", running, "right");
  reporter.report({ namespace: "default", name: "web", uid: "wrong" }, { phase: "Failed" });
  await clock.advance(2000);
  assert.deepEqual(server.app("web").status, running);
  reporter.report({ namespace: "default", name: "web", uid: "right" }, { ...running });
  await clock.advance(2000);
  assert.deepEqual(server.asked.map(({ method }) => method), ["GET", "GET"]);
});

test("report() waits a moment for the list after a restart, so that it need not read each app", async () => {
  const { clock, server, reporter } = setUp();
  const apps = Array.from({ length: 100 }, (_, number) => server.addApp(`app${number}`, { ...running }));
  for (const app of apps) reporter.report({ ...refTo(app), resourceVersion: undefined }, { ...running });
  await clock.advance(1000);
  for (const app of apps) reporter.objectSeen(refTo(app), app.status);
  await clock.advance(minute);
  assert.equal(server.asked.length, 0);
});

test("report() retries after a conflict, and keeps what the other client wrote", async () => {
  const { server, reporter } = setUp();
  const app = refTo(server.addApp("web", running));
  const scheduled = { type: "Audited", status: "True" } as const;
  server.touch(
    ncappPath("default", "web"),
    ({ status }) => Object.assign(status!, { conditions: [scheduled], nominatedNodeName: "n2" }),
  );
  const ready = { type: "Ready", status: "False" } as const;
  reporter.report(app, { ...running, phase: "Stopping", conditions: [ready] }, running);
  await settled();
  assert.deepEqual(server.asked.map(({ method }) => method), ["PATCH", "GET", "PATCH"]);
  const { phase, conditions, nominatedNodeName } = server.app("web").status;
  assert.deepEqual({ phase, conditions, nominatedNodeName }, {
    phase: "Stopping",
    conditions: [scheduled, ready],
    nominatedNodeName: "n2",
  });
});

test("report() drops the report of a missing object, and tries again after five minutes", async () => {
  const { clock, server, reporter } = setUp();
  const app: ReportTarget = { namespace: "default", name: "gone", uid: "u" };
  reporter.report(app, { phase: "Running" }, {});
  await clock.advance(4 * minute);
  reporter.report(app, { phase: "Stopping" }, {});
  await clock.advance(30_000);
  assert.equal(server.asked.length, 1);
  await clock.advance(minute);
  assert.equal(server.asked.length, 2);
});

test("report() writes a missing object at once when it is seen again", async () => {
  const { server, reporter } = setUp();
  const app: ReportTarget = { namespace: "default", name: "web", uid: "uid-of-web" };
  reporter.report(app, { phase: "Running" }, {});
  await settled();
  reporter.objectSeen(refTo(server.addApp("web")), undefined);
  await settled();
  assert.deepEqual(server.app("web").status, { phase: "Running" });
});

test("objectSeen() corrects a status that another client wrote, at most once per period", async () => {
  const { clock, server, reporter } = setUp();
  server.addApp("web");
  reporter.report(refTo(server.app("web")), running, {});
  await clock.advance(20_000);
  const before = server.patches.length;
  for (let times = 0; times < 100; times++) {
    const touched = server.touch(
      ncappPath("default", "web"),
      (object) => object.status = { ...running, phase: "Unknown" },
    );
    reporter.objectSeen(refTo(touched), { ...touched.status });
    await clock.advance(100);
  }
  await clock.advance(10_000);
  assert.equal(server.app("web").status?.phase, "Running");
  assert.ok(server.patches.length - before <= 3, `${server.patches.length - before} corrections`);
});

test("objectSeen() of the agent's own write, or of an older version, causes no request", async () => {
  const { server, reporter } = setUp();
  server.addApp("web");
  const old = refTo(server.app("web"));
  reporter.report(old, running, {});
  await settled();
  // An API server whose CRD is older than the agent has dropped a field.
  reporter.objectSeen(refTo(server.app("web")), { phase: "Running" });
  reporter.objectSeen(old, undefined);
  await settled();
  assert.equal(server.asked.length, 1);
});

test("report() counts a field that the server drops as sent", async () => {
  const { clock, server, reporter } = setUp();
  server.addApp("web");
  server.intercept = (request) => void delete request.body?.status.restarts;
  for (let times = 0; times < 10; times++) {
    reporter.report(refTo(server.app("web")), running, {});
    await clock.advance(10_000);
  }
  assert.equal(server.patches.length, 1);
});

test("report() sends changes of phase before usage, and never exceeds its requests in flight", async () => {
  // The agent before sent usage long ago, so usage is due at once.
  const { server, reporter } = setUp({ random: () => 1 });
  for (const kind of ["usage", "phase"]) {
    for (let number = 0; number < 20; number++) server.addApp(`${kind}${number}`, running);
  }
  const hold = Promise.withResolvers<void>();
  let most = 0;
  let busy = 0;
  server.intercept = async () => {
    most = Math.max(most, ++busy);
    await hold.promise;
    busy--;
  };
  for (const app of server.objects.values()) {
    const change: NCAppStatus = app.metadata.name.startsWith("usage")
      ? { cpuPCT: "50.0" }
      : { phase: "Stopping" };
    reporter.report(refTo(app), { ...running, ...change }, running);
  }
  await settled();
  assert.equal(server.asked.length, 4);
  hold.resolve();
  await settled();
  const order = server.asked.slice(4).map(({ path }) => path.match(/ncapps\/(usage|phase)/)![1]);
  assert.deepEqual(order, [...Array(20).fill("phase"), ...Array(16).fill("usage")]);
  assert.equal(most, 4);
});

test("serverAnswered() ends the wait of reports without an answer, not of rejected ones", async () => {
  const { clock, server, reporter } = setUp();
  const [web, refused] = [refTo(server.addApp("web")), refTo(server.addApp("refused"))];
  server.intercept = (request) => {
    throw request.path.includes("refused")
      ? problem(request, 422, "Invalid")
      : problem(request, undefined, "Unreachable");
  };
  for (const app of [web, refused]) reporter.report(app, { phase: "Running" }, {});
  await clock.advance(5 * minute);
  const asked = server.asked.length;
  server.intercept = () => undefined;
  reporter.serverAnswered();
  await settled();
  assert.deepEqual(server.asked.slice(asked).map(({ path }) => path.includes("web")), [true]);
  assert.deepEqual(server.app("web").status, { phase: "Running" });
});

test("report() is not delayed by one app that the server always rejects", async () => {
  const { clock, server, reporter } = setUp();
  server.intercept = (request) => {
    if (request.path.includes("refused")) throw problem(request, 403, "Forbidden");
  };
  reporter.report(refTo(server.addApp("refused")), { phase: "Running" });
  await clock.advance(5 * minute);
  reporter.report(refTo(server.addApp("web")), { phase: "Running" }, {});
  await settled();
  assert.deepEqual(server.app("web").status, { phase: "Running" });
});

test("report() ignores an answer that is not an NCApp", async () => {
  const { clock, server, reporter } = setUp();
  const app = server.addApp("web");
  server.intercept = () => server.asked.length < 3 ? { metadata: { name: "web" } } : undefined;
  reporter.report({ ...refTo(app), resourceVersion: undefined }, { phase: "Running" });
  await clock.advance(10_000);
  assert.deepEqual(server.app("web").status, { phase: "Running" });
});

test("forget() drops what is pending, for this uid only", async () => {
  const { clock, server, reporter } = setUp();
  const [app, kept] = [refTo(server.addApp("web")), refTo(server.addApp("kept"))];
  server.intercept = () => 500;
  reporter.report(kept, { phase: "Running" }, {});
  reporter.report(app, { phase: "Running" }, {});
  await settled();
  server.intercept = () => undefined;
  reporter.forget("default", "kept", "another");
  reporter.forget("default", "web", app.uid);
  await clock.advance(minute);
  assert.equal(server.app("web").status?.phase, undefined);
  assert.equal(server.app("kept").status?.phase, "Running");
});

test("close() sends nothing more and leaves no timer", async () => {
  const { clock, server, reporter } = setUp();
  server.intercept = () => 500;
  const app = refTo(server.addApp("web"));
  reporter.report(app, { phase: "Running" }, {});
  await settled();
  reporter.close();
  reporter.report(app, { phase: "Stopping" }, {});
  await clock.advance(minute);
  assert.equal(server.asked.length, 1);
  assert.equal(clock.timers, 0);
});
