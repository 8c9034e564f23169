import assert from "node:assert/strict";
import { test } from "node:test";
import { steadyNow } from "../../src/lib/time.ts";
import type { EvictionCandidate } from "../../src/node/eviction.ts";
import { createNodeAgent, type NodeAgentOptions, observeDelay } from "../../src/node/node-agent.ts";
import { parsePublished } from "../../src/node/published.ts";
import type { NodeUsage } from "../../src/node/usage.ts";
import { createTestLog } from "../report/test-log.ts";
import { waitFor } from "../wait-for.ts";
import { FakeApi, problem } from "../kube/fake-api.ts";
import { calmUsage, facts, identity, start } from "./samples.ts";

const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/nckubelet-n1";
const node = "/api/v1/nodes/n1";
const leases = [lease, lease.replace("nckubelet-", "")];
const short: NodeUsage = { ...calmUsage, memoryAvailableBytes: 50 << 20 };

const setUp = (change: Partial<NodeAgentOptions> = {}) => {
  const api = new FakeApi();
  const log = createTestLog();
  const evicted: string[] = [];
  let time = start;
  let usage = calmUsage;
  let apps: EvictionCandidate[] = [];
  const agent = createNodeAgent({
    client: api.client,
    node: "n1",
    identity,
    version: "1.2.3",
    mode: "auto",
    log,
    facts: () => Promise.resolve(facts),
    usage: () => Promise.resolve(usage),
    free: () => ({ cpuPCT: 60, memPCT: 30 }),
    reserved: { cpuPCT: 10, memPCT: 5 },
    apps: () => apps,
    evict: (key) => evicted.push(key),
    now: () => time,
    steady: () => time,
    ...change,
  });
  return {
    api,
    log,
    agent,
    evicted,
    pass: (ms: number) => void (time += ms),
    measure: (next: NodeUsage) => void (usage = next),
    run: (...next: EvictionCandidate[]) => void (apps = next),
  };
};

test("the Lease reports usage, free shares and pressure", async () => {
  const { api, agent, measure } = setUp();
  measure({ ...short, cpuPCT: 12.34, memPCT: 99 });
  await agent.observeOnce();
  assert.equal(await agent.renewOnce(), true);
  assert.deepEqual(parsePublished(api.get(lease).metadata.annotations), {
    used: { cpuPCT: 12.3, memPCT: 99 },
    free: { cpuPCT: 60, memPCT: 30 },
    reserved: { cpuPCT: 10, memPCT: 5 },
    pressure: ["memory"],
    version: "1.2.3",
  });
});

test("the first Leases belong to the Node, which is created before them", async () => {
  const { api, agent } = setUp();
  await agent.renewOnce();
  assert.equal(agent.state().registered, true);
  const { uid } = api.get(node).metadata;
  assert.deepEqual(leases.map((path) => api.get(path).metadata.ownerReferences[0].uid), [uid, uid]);
});

test("registerOnce() reads its own Node every time, and writes it only after a change", async () => {
  const { api, agent, pass, measure } = setUp();
  await agent.observeOnce();
  await agent.registerOnce();
  assert.deepEqual(api.takeAsked(), [`GET ${node}`, "POST /api/v1/nodes"]);
  pass(10_000);
  await agent.registerOnce();
  assert.deepEqual(api.takeAsked(), [`GET ${node}`]);
  measure(short);
  await agent.observeOnce();
  await agent.registerOnce();
  assert.deepEqual(api.takeAsked(), [`GET ${node}`, `PATCH ${node}/status`]);
});

test("registerOnce() writes the port of the kubelet's API, 0 for none, as soon as it changes", async () => {
  let port: number | undefined;
  const { api, agent } = setUp({ kubeletPort: () => port });
  const portOf = () => api.get(node).status.daemonEndpoints.kubeletEndpoint.Port;
  const seen: number[] = [];
  for (port of [undefined, 10_250, 10_251, undefined]) {
    await agent.registerOnce();
    seen.push(portOf());
  }
  assert.deepEqual(seen, [0, 10_250, 10_251, 0]);
});

test("registerOnce() tells whose the Node is, and its addresses", async () => {
  const seen: unknown[] = [];
  const { api, agent, pass } = setUp({ onNode: (known) => seen.push(known.registered, known.addresses) });
  await agent.registerOnce();
  api.touch(node, ({ status }) => status.nodeInfo.kubeletVersion = "v1.34.1");
  pass(10_000);
  await agent.registerOnce();
  assert.deepEqual(seen, [true, facts.addresses, false, facts.addresses]);
});

test("registerOnce() reads a kubelet's Node once a minute", async () => {
  const { api, agent, pass } = setUp();
  api.put(node, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: { nodeInfo: { kubeletVersion: "v1.34.1" } },
  });
  for (let times = 0; times < 7; times++) {
    await agent.registerOnce();
    pass(10_000);
  }
  assert.deepEqual(api.takeAsked(), [`GET ${node}`, `PATCH ${node}`, `GET ${node}`]);
});

test("a Node that the node controller marked as unknown is ready again after the next read", async () => {
  const { api, agent, pass } = setUp();
  await agent.registerOnce();
  api.touch(node, ({ status }) => {
    for (const condition of status.conditions) condition.status = "Unknown";
  });
  pass(10_000);
  await agent.registerOnce();
  assert.deepEqual(
    api.get(node).status.conditions.map(({ status }: { status: string }) => status),
    ["False", "False", "False", "True"],
  );
});

test("after the Node was deleted, Node and Leases are created again with one renewal", async () => {
  const { api, agent } = setUp();
  await agent.renewOnce();
  const { uid } = api.get(node).metadata;
  api.objects.clear();
  assert.equal(await agent.renewOnce(), true);
  const created = api.get(node).metadata.uid;
  assert.notEqual(created, uid);
  assert.deepEqual(leases.map((path) => api.get(path).metadata.ownerReferences[0].uid), [created, created]);
});

test("Leases get their new owner at once when the Node has another uid", async () => {
  const { api, agent } = setUp();
  await agent.renewOnce();
  const { metadata, ...rest } = api.get(node);
  api.put(node, { ...rest, metadata: { ...metadata, uid: "recreated" } });
  await agent.registerOnce();
  await waitFor(
    "the Leases",
    () => leases.every((path) => api.get(path).metadata.ownerReferences[0].uid === "recreated"),
  );
});

test("a Node whose Lease another agent renews is left to that one", async () => {
  const { api, agent } = setUp();
  api.put(lease, { spec: { holderIdentity: "other_5ta7e_b0072", renewTime: "2030-01-01T00:00:00.000000Z" } });
  await agent.renewOnce();
  await agent.registerOnce();
  assert.deepEqual([...api.objects.keys()], [lease]);
});

test("an agent whose state belongs to another node touches neither Node nor Leases", async () => {
  const ending = new AbortController();
  let measured = 0;
  const { api, agent } = setUp({
    periodMs: 2,
    settled: () => Promise.resolve(false),
    usage() {
      measured++;
      return Promise.resolve(calmUsage);
    },
  });
  const running = agent.run(ending.signal);
  await waitFor("several measurements", () => measured > 3);
  ending.abort();
  await running;
  assert.deepEqual(api.takeAsked(), []);
});

test("a node that is not ready reports it on its Node once, and keeps its Lease", async () => {
  let state = { ready: true, message: "nckubelet runs apps" };
  const { api, agent, pass } = setUp({ ready: () => state });
  const ready = () =>
    api.get("/api/v1/nodes/n1").status.conditions.find(({ type }: { type: string }) => type === "Ready");
  await agent.registerOnce();
  assert.equal(ready().status, "True");
  api.takeAsked();
  state = { ready: false, message: "disk: /state cannot be written to: EROFS" };
  for (let times = 0; times < 4; times++) {
    pass(10_000);
    await agent.registerOnce();
  }
  assert.deepEqual(api.takeAsked().filter((asked) => !asked.startsWith("GET")), [`PATCH ${node}/status`]);
  const { status, reason, message } = ready();
  assert.deepEqual([status, reason, message], ["False", "AgentNotReady", state.message]);
  assert.equal(await agent.renewOnce(), true);
});

test("registerOnce() retries at once after a failure", async () => {
  const { api, agent } = setUp();
  api.intercept = () => 503;
  await assert.rejects(agent.registerOnce(), { status: 503 });
  api.intercept = () => undefined;
  await agent.registerOnce();
  assert.equal(agent.state().registered, true);
});

test("registerOnce() reads the hardware once, after the registration, and works without it", async () => {
  let asked = 0;
  const hardware = () => {
    asked++;
    return Promise.reject(new Error("no such program"));
  };
  const { agent, pass } = setUp({ hardware });
  for (let times = 0; times < 3; times++) {
    await agent.registerOnce();
    pass(120_000);
  }
  assert.equal(asked, 1);
});

test("observeOnce() evicts one app at a time while memory is short, and none afterwards", async () => {
  const { agent, evicted, pass, measure, run, log } = setUp();
  const [low, high]: EvictionCandidate[] = [
    { key: "default/low", priority: 0, memoryBytes: 1000 },
    { key: "default/high", priority: 9, memoryBytes: 9000 },
  ];
  run(high!, low!);
  await agent.observeOnce();
  assert.deepEqual(evicted, []);
  measure(short);
  await agent.observeOnce();
  run(high!, { ...low!, stoppingMs: 1000 });
  pass(1000);
  await agent.observeOnce();
  assert.deepEqual(evicted, ["default/low"]);
  run(high!);
  measure(calmUsage);
  pass(1000);
  await agent.observeOnce();
  assert.equal(agent.state().pressures.memory.active, true);
  assert.deepEqual(evicted, ["default/low"]);
  assert.deepEqual(log.lines, ["warn the node runs short of memory", "warn evicting an app"]);
});

test("a node without an API server still measures and evicts", async () => {
  const { agent, evicted, measure, run } = setUp({ client: undefined });
  run({ key: "default/a", priority: 0, memoryBytes: 1 });
  measure(short);
  await agent.observeOnce();
  await agent.registerOnce();
  assert.equal(await agent.renewOnce(), true);
  assert.deepEqual(evicted, ["default/a"]);
  assert.equal(agent.state().usage, short);
});

test("run() maintains Node and Lease through all kinds of errors, and ends when its signal aborts", async () => {
  const ending = new AbortController();
  const { api, agent, log } = setUp({ periodMs: 2, now: Date.now, steady: steadyNow });
  const troubles = [401, 403, 404, 500, undefined];
  api.intercept = (request) => {
    if (api.get(lease) && api.get("/api/v1/nodes/n1")) ending.abort();
    if (api.asked.length <= 6) throw problem(request, troubles[api.asked.length % 5], "Broken");
  };
  await agent.run(ending.signal);
  assert.ok(api.get(lease) && api.get("/api/v1/nodes/n1"));
  assert.ok(log.lines.every((line) => /^(warn cannot|info registered)/.test(line)), log.text());
});

test("observeDelay() is short while memory is short", () => {
  assert.equal(observeDelay(undefined, 10_000), 10_000);
  assert.equal(observeDelay(calmUsage, 10_000), 10_000);
  assert.equal(observeDelay({ ...calmUsage, memoryAvailableBytes: 300 << 20 }, 10_000), 1000);
});

test("a clock that is set back delays neither the end of a shortage nor the next read of the Node", async () => {
  let wall = start;
  const { api, agent, pass, measure } = setUp({ now: () => wall });
  measure(short);
  await agent.observeOnce();
  measure(calmUsage);
  await agent.observeOnce();
  await agent.registerOnce();
  wall -= 3_600_000;
  pass(60_000);
  await agent.observeOnce();
  assert.equal(agent.state().pressures.memory.active, false);
  api.takeAsked();
  pass(60_000);
  await agent.registerOnce();
  assert.deepEqual(api.takeAsked(), ["GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1/status"]);
  const [condition] = api.get("/api/v1/nodes/n1").status.conditions;
  assert.equal(Date.parse(condition.lastHeartbeatTime), wall, "others read the time of day");
});
