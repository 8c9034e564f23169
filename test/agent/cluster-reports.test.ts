import assert from "node:assert/strict";
import { test } from "node:test";
import { createClusterReports } from "../../src/agent/cluster-reports.ts";
import { createGate } from "../../src/agent/node/node.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { ncappPath, ncapps } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { createStatusCache } from "../../src/agent/view/view.ts";
import { annotations } from "../../src/api/names.ts";
import type { NCApp, NCAppStatus } from "../../src/api/types.ts";
import { applyDefaults } from "../../src/api/validate/validate.ts";
import type { ServerSink } from "../../src/report/apps/apps.ts";
import { sourceNames } from "../../src/sources/source.ts";
import type { CapsState } from "../../src/supervisor/confinement/confinement.ts";
import type { SupervisedApp, Supervisor } from "../../src/supervisor/supervisor.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { ncapp } from "../builders.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { withClient } from "../kube/fake-server.ts";
import { appWith, recordWith, runOf } from "../supervisor/fixtures.ts";
import { waitFor } from "../wait-for.ts";

const noSink: ServerSink = { replace() {}, upsert() {}, remove() {} };

function openGate() {
  const gate = createGate();
  gate.open();
  return gate;
}

type Parts = Parameters<typeof createClusterReports>;

/** Reports of an agent that runs these apps. */
function reportsTo(
  client: FakeApi["client"],
  apps: Map<string, SupervisedApp>,
  { gate = openGate(), isOnHold = () => false, ...options }: Partial<AgentOptions> & {
    gate?: ReturnType<typeof createGate>;
    isOnHold?: Supervisor["isOnHold"];
  } = {},
) {
  const supervisor = { get: (key: string) => apps.get(key), list: () => [...apps.values()], isOnHold };
  const statuses = createStatusCache({ meter: { latest: () => undefined }, bootId: "b" });
  return createClusterReports(
    { log: silentLogger, nodeName: "node-a", reportPeriodMs: 10_000, ...options } as AgentOptions,
    { client, onAnswer() {}, answered: () => () => {} } as unknown as Parts[1],
    { supervisor, gate, statuses, size: { cpus: 4, memoryBytes: 8e9 } } as unknown as Parts[2],
  );
}

test("an agent that starts releases moved apps that it does not have, except one whose record it cannot read", async () => {
  const api = new FakeApi();
  for (const name of ["forgotten", "unreadable"]) {
    const status = { phase: "Running", nodeName: "node-a" } as const;
    api.add(ncapps, ncapp({ metadata: { name, uid: name }, spec: { nodeName: "node-b" }, status }));
  }
  const holderOf = (name: string) => api.get(ncappPath("default", name)).status.nodeName;
  const reports = reportsTo(api.client, new Map(), {
    isOnHold: ({ metadata }) => metadata.name === "unreadable",
  });
  reports.observe(noSink).replace([]);
  await waitFor("it is released", () => holderOf("forgotten") === "");
  await reports.close();
  assert.equal(holderOf("unreadable"), "node-a");
});

/** Reports of apps without Pods; `bind` adds an app and returns what changes its record and caps. */
function reportsOfApps(gate = openGate()) {
  const api = new FakeApi();
  const apps = new Map<string, SupervisedApp>();
  const reports = reportsTo(api.client, apps, { gate });
  const statusOf = (name: string): NCAppStatus | undefined => api.get(ncappPath("default", name)).status;
  const bind = (name: string) => {
    const app = api.add(ncapps, ncapp({ metadata: { name, uid: name }, spec: { nodeName: "node-a" } }));
    reports.observe(noSink).upsert({ app });
    return (fields: Partial<AppRecord>, caps?: CapsState) => {
      const record = recordWith({
        app: { ...app, spec: applyDefaults(app.spec) },
        source: sourceNames.apiServer,
        ...fields,
      });
      const known = { key: `default/${name}`, record, caps };
      apps.set(known.key, known);
      reports.changed(known);
    };
  };
  return { api, reports, bind, statusOf, phaseOf: (name: string) => statusOf(name)?.phase };
}

test("a start is reported when it is done; one that takes long, or that the agent leaves behind, as it is", async () => {
  const { api, reports, bind, phaseOf } = reportsOfApps();
  const quick = bind("quick");
  quick({ phase: "Pending", reason: "" });
  quick({ phase: "Starting", reason: "Starting" });
  quick({ phase: "Running", reason: "Running" });
  await waitFor("it is reported", () => phaseOf("quick") === "Running");
  assert.equal(api.takeAsked().length, 1);
  bind("slow")({ phase: "Starting", reason: "Starting" });
  await waitFor("it is reported", () => phaseOf("slow") === "Starting");
  bind("last")({ phase: "Pending", reason: "" });
  await reports.close();
  assert.equal(phaseOf("last"), "Pending");
});

test("a restart is one report, with the caps of the new run; a stop that takes long is reported as it is", async () => {
  const { api, reports, bind, statusOf, phaseOf } = reportsOfApps();
  const capped: CapsState = { enforced: true };
  const change = bind("web");
  change({ phase: "Running", reason: "Running" }, capped);
  await waitFor("it is reported", () => phaseOf("web") === "Running");
  api.takeAsked();
  const outdated = runOf(appWith(), { bootId: "b", hash: "before" });
  change({ phase: "Running", reason: "Running", run: outdated }, capped);
  change({ phase: "Stopping", reason: "Updated" }, capped);
  change({ phase: "Pending", reason: "Stopped", restarts: 1 });
  change({ phase: "Starting", reason: "Starting", restarts: 1 });
  change({ phase: "Running", reason: "Running", restarts: 1 });
  change({ phase: "Running", reason: "Running", restarts: 1 }, capped);
  await waitFor("the new run is reported", () => statusOf("web")?.restarts === 1);
  assert.deepEqual([api.takeAsked().length, phaseOf("web")], [1, "Running"]);
  assert.ok(statusOf("web")?.conditions?.some(({ type }) => type === "LimitsEnforced"));
  change({ phase: "Stopping", reason: "Updated", restarts: 1 }, capped);
  await waitFor("the stop is reported", () => phaseOf("web") === "Stopping");
  await reports.close();
});

test("the reports see every object of the node; mirrors go no further", async () => {
  const { reports } = reportsOfApps();
  const passed: string[] = [];
  const names = (apps: { app: NCApp }[]) => apps.map(({ app }) => app.metadata.name).join();
  const sink = reports.observe({
    replace: (apps: { app: NCApp }[]) => void passed.push(`replace ${names(apps)}`),
    upsert: (one: { app: NCApp }) => void passed.push(`upsert ${names([one])}`),
    remove: (key: string, uid: string) => void passed.push(`remove ${key} ${uid}`),
  });
  const bound = (name: string, notes: Record<string, string> = {}) => ({
    app: ncapp({ metadata: { name, uid: name, annotations: notes }, spec: { nodeName: "node-a" } }),
  });
  const mirror = (name: string) =>
    bound(name, { [annotations.mirror]: "node-a/0123456789abcdef", [annotations.mirrorOf]: name });
  sink.replace([bound("app"), mirror("local")]);
  sink.upsert(mirror("local"));
  sink.upsert(bound("other"));
  sink.remove("default/local", "local");
  await reports.close();
  assert.deepEqual(passed, ["replace app", "upsert other", "remove default/local local"]);
});

test("nothing is reported unless the gate is open, but for events until it is decided", async () => {
  const gate = createGate();
  const { api, reports, bind } = reportsOfApps(gate);
  const change = bind("web");
  const running = { phase: "Running", reason: "Running" } as const;
  const record = recordWith({
    app: { ...appWith(), metadata: { name: "web", uid: "web" } },
    source: "api-server",
  });
  const event = (message: string) =>
    reports.event({ key: "default/web", record }, { type: "Normal", reason: "Started", message });
  change(running, { enforced: true });
  event("undecided");
  gate.close("another agent acts");
  change(running, { enforced: true });
  event("closed");
  gate.open();
  event("open");
  await reports.close();
  const messages = api.asked.map(({ method, body }) => `${method} ${body?.message ?? "status"}`);
  assert.deepEqual(messages, ["POST undecided", "POST open"]);
});

test("an app has a Pod while this node holds it, and a local app if it has a mirror", async () => {
  const api = new FakeApi();
  await withClient(api.answer, async (client) => {
    const apps = new Map<string, SupervisedApp>();
    const reports = reportsTo(client, apps, { pods: "auto" });
    const change = (name: string, source: string, fields: Partial<AppRecord> = {}) => {
      const app = ncapp({ metadata: { name }, spec: { nodeName: "node-a" } });
      const record = recordWith({ app: { ...app, spec: applyDefaults(app.spec) }, source, ...fields });
      const known = { key: `default/${name}`, record };
      apps.set(known.key, known);
      reports.changed(known);
    };
    const podsThere = () =>
      [...api.objects.keys()].filter((path) => path.includes("/pods/")).map((path) => path.split("/").at(-1));
    await using _ = { [Symbol.asyncDispose]: () => reports.close() };
    reports.pods.nodeSeen({ registered: true, addresses: ["192.0.2.1"] });
    const listed = ["mine", "elsewhere"].map((name) =>
      ncapp({ metadata: { name }, spec: { nodeName: "node-a" } })
    );
    reports.observe(noSink).replace(listed.map((app) => ({ app })));
    change("mine", sourceNames.apiServer);
    change("elsewhere", sourceNames.apiServer, { heldBy: "node-b" });
    change("local", "file");
    await waitFor("the Pods of the app and of the mirror", () => podsThere().length === 2);
    assert.deepEqual(podsThere().sort(), ["local", "mine"]);
    const mirror = api.get(ncappPath("default", "local"));
    assert.equal(
      api.get("/api/v1/namespaces/default/pods/local").metadata.ownerReferences[0].uid,
      mirror.metadata.uid,
    );
    change("mine", sourceNames.apiServer, { heldBy: "node-b" });
    const local = apps.get("default/local")!;
    apps.delete(local.key);
    reports.forgotten(local);
    await waitFor("no Pods", () => podsThere().length === 0);
  });
});
