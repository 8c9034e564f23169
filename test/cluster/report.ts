/**
 * Status reports and events at a real API server, as an agent with the shipped roles and no more.
 */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentUser } from "../../src/api/names.ts";
import type { Reason } from "../../src/api/reasons.ts";
import type { NCApp, NCAppStatus } from "../../src/api/types.ts";
import type { KubeClient, RequestReport } from "../../src/kube/client/client.ts";
import { events, ncappPath, resourcePath } from "../../src/kube/resources.ts";
import { createEventRecorder } from "../../src/report/events/events.ts";
import { createStatusReporter, type ReportTarget } from "../../src/report/status/status.ts";
import { silentLogger } from "../../src/lib/log.ts";
import type { Cluster } from "../harness/cluster.ts";
import { createApp } from "../harness/create-app.ts";

const agent = agentUser("node-1");
const running: NCAppStatus = {
  phase: "Running",
  reason: "Running",
  message: "",
  observedGeneration: 1,
  ready: true,
  restarts: 0,
  pid: 4711,
  cpuPCT: "1.0",
  memPCT: "5.0",
  conditions: [{
    type: "Ready",
    status: "True",
    reason: "Ready",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  }],
};

export function testReports(shared: () => Cluster): void {
  let cluster: Cluster;
  let client: KubeClient;
  let admin: KubeClient;
  const requests: RequestReport[] = [];

  before(async () => {
    cluster = shared();
    admin = await cluster.clientOf("admin");
    client = await cluster.clientOf(agent, { onRequest: (report) => requests.push(report) });
  });

  const create = (name: string) => createApp(admin, name, { nodeName: "node-1" });
  const read = (name: string): Promise<NCApp> => admin.request({ path: ncappPath("default", name) });
  const newReporter = () =>
    createStatusReporter({ client, node: "node-1", log: silentLogger, reportPeriodMs: 10_000 });
  const newRecorder = () => {
    const recorder = createEventRecorder({
      client,
      component: "nckubelet",
      node: "node-1",
      log: silentLogger,
    });
    return { ...recorder, [Symbol.dispose]: () => recorder.close() };
  };
  const counted = async (work: () => Promise<void>) => {
    const before = requests.length;
    await work();
    return requests.slice(before).map(({ verb, resource, code }) => `${verb} ${resource} ${code}`);
  };

  test("a status arrives with one request, without empty texts, and kubectl shows it", async () => {
    const app = await create("web");
    const reporter = newReporter();
    const asked = await counted(async () => {
      reporter.report(refTo(app), running, {});
      await reporter.flush(10_000);
    });
    assert.deepEqual(asked, ["patch ncapps/status 200"]);
    const { message: _, ...shown } = running;
    assert.deepEqual((await read("web")).status, shown);
    const { stdout } = await cluster.kubectl(["get", "ncapp", "web"]);
    assert.match(stdout, /web +node-1 +Running +true +1\.0 +5\.0 +0 /);
  });

  test("later changes need one request each, and remove fields that disappeared", async () => {
    const app = await create("changing");
    const reporter = newReporter();
    const asked = await counted(async () => {
      for (const phase of ["Starting", "Running", "Stopping", "Failed"] as const) {
        const status = phase === "Failed" ? { phase, restarts: 0 } : { ...running, phase };
        reporter.report(refTo(app), status, {});
        await reporter.flush(10_000);
      }
    });
    assert.deepEqual(asked, Array(4).fill("patch ncapps/status 200"));
    assert.deepEqual((await read("changing")).status, { phase: "Failed", restarts: 0 });
  });

  test("an agent that restarts sends nothing about an idle app", async () => {
    const app = await read("web");
    const reporter = newReporter();
    const asked = await counted(async () => {
      const conditions = [{ ...running.conditions![0]!, lastTransitionTime: "2031-01-01T00:00:00Z" }];
      reporter.report(refTo(app), { ...running, conditions }, app.status);
      await reporter.flush(10_000);
    });
    assert.deepEqual(asked, []);
  });

  test("a late report never touches an object that was recreated under the same name", async () => {
    const old = await create("again");
    await cluster.kubectl(["delete", "ncapp", "again"]);
    const fresh = await create("again");
    for (const app of [refTo(old), { ...refTo(old), resourceVersion: undefined }]) {
      const reporter = newReporter();
      reporter.report(app, running, {});
      await reporter.flush(10_000);
      reporter.close();
    }
    assert.deepEqual(await read("again"), fresh);
  });

  test("a report keeps fields of other writers, and corrects its own", async () => {
    const app = await create("shared");
    const reporter = newReporter();
    const audited = { type: "Audited", status: "True" };
    const body = { status: { phase: "Unknown", conditions: [audited], nominatedNodeName: "node-2" } };
    await admin.request({ method: "PATCH", path: ncappPath("default", "shared", "status"), body });
    const asked = await counted(async () => {
      reporter.report(refTo(app), running, {});
      await reporter.flush(10_000);
    });
    assert.deepEqual(asked, ["patch ncapps/status 409", "get ncapps 200", "patch ncapps/status 200"]);
    const { phase, conditions, nominatedNodeName } = (await read("shared")).status!;
    assert.equal(phase, "Running");
    assert.deepEqual(conditions?.map(({ type }) => type), ["Audited", "Ready"]);
    assert.equal(nominatedNodeName, "node-2");
  });

  test("reports wait while the API server is down and arrive when it is back, the newest state only", async () => {
    const app = await create("patient");
    const reporter = newReporter();
    await cluster.apiServer.kill("SIGKILL");
    reporter.report(refTo(app), { ...running, phase: "Starting" }, {});
    await reporter.flush(500);
    reporter.report(refTo(app), running);
    await cluster.apiServer.start();
    reporter.objectSeen(refTo(app), undefined);
    await reporter.flush(20_000);
    assert.equal((await read("patient")).status?.phase, "Running");
  });

  test("kubectl describe shows the events with their counts", async () => {
    const app = await create("told");
    using recorder = newRecorder();
    const say = async (type: "Normal" | "Warning", reason: Reason, message: string) => {
      recorder.record(refTo(app), { type, reason, message });
      await recorder.flush(10_000);
    };
    await say("Normal", "Started", "Started /opt/told.sh as process 12");
    for (let times = 0; times < 3; times++) {
      await say("Warning", "Exited", "ended with status 1, starting again in 10 s");
    }
    const { stdout } = await cluster.kubectl(["describe", "ncapp", "told"]);
    const story = stdout.slice(stdout.indexOf("Events:")).replaceAll(/ +/g, " ");
    assert.match(
      story,
      /Normal Started \S+ nckubelet(, node-1)? Started \/opt\/told.sh as process 12\n Warning Exited \S+ \(x3 over \S+\) nckubelet/,
    );
  });

  test("an Event that expired on the server is recreated with its count", async () => {
    const app = await create("forgotten");
    using recorder = newRecorder();
    const news = { type: "Normal", reason: "Started", message: "Started" } as const;
    recorder.record(refTo(app), news);
    await recorder.flush(10_000);
    const path = resourcePath(events, { namespace: "default" });
    const query = { fieldSelector: "involvedObject.name=forgotten" };
    await admin.request({ method: "DELETE", path, query });
    recorder.record(refTo(app), news);
    await recorder.flush(10_000);
    const { items } = await admin.request<{ items: { count: number }[] }>({ path, query });
    assert.deepEqual(items.map(({ count }) => count), [2]);
  });

  test("a thousand apps cost one patch each at first and nothing while idle", async () => {
    const names = Array.from({ length: 1000 }, (_, number) => `many-${number}`);
    const apps = await Promise.all(names.map(create));
    const reporter = newReporter();
    const first = await counted(async () => {
      for (const app of apps) reporter.report(refTo(app), running, {});
      await reporter.flush(120_000);
    });
    assert.deepEqual([first.length, new Set(first)], [1000, new Set(["patch ncapps/status 200"])]);
    const later = await counted(async () => {
      for (const app of apps) {
        reporter.report(refTo(app), { ...running, cpuPCT: "1.4", memoryBytes: 12_345 });
      }
      await reporter.flush(10_000);
    });
    assert.deepEqual(later, []);
    reporter.close();
  });
}

function refTo({ metadata }: NCApp): ReportTarget & { resourceVersion: string } {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { namespace: namespace!, name, uid: uid!, resourceVersion: resourceVersion! };
}
