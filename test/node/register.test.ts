import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node, ownerOf } from "../../src/node/node-object.ts";
import { noPressure, stepPressure } from "../../src/node/pressure.ts";
import { createRegistration, type RegisterMode } from "../../src/node/register.ts";
import { createTestLog } from "../report/test-log.ts";
import { FakeApi, problem } from "../kube/fake-api.ts";
import { calmUsage, picture, start } from "./samples.ts";

const path = "/api/v1/nodes/edge-7";
const label = "app.example.com/nckubelet";
const mark = "app.example.com/registered-by";
const minute = 60_000;

const setUp = (mode: RegisterMode = "auto") => {
  const api = new FakeApi();
  let time = start;
  const log = createTestLog();
  const registration = createRegistration({ client: api.client, node: "edge-7", mode, log, now: () => time });
  return {
    api,
    registration,
    log,
    pass: (ms: number) => void (time += ms),
    node: () => api.get(path) as Node,
  };
};

const kubeletNode = (): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "edge-7", labels: { "kubernetes.io/hostname": "edge-7", zone: "a" } },
  spec: { podCIDR: "10.1.0.0/24", taints: [{ key: "own", effect: "NoExecute" }] },
  status: {
    nodeInfo: { kubeletVersion: "v1.34.1" } as NonNullable<Node["status"]>["nodeInfo"],
    conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2029-12-31T23:59:00Z" }],
  },
});

test("syncOnce() reads the Node from the server's cache, which may be asked often", async () => {
  const { api, registration } = setUp();
  await registration.syncOnce(picture);
  assert.deepEqual(api.asked[0]?.query, { resourceVersion: "0" });
});

test("syncOnce() creates the Node of a machine that has none, with all the fields that others read", async () => {
  const { api, registration, node } = setUp();
  await registration.syncOnce(picture);
  assert.deepEqual(api.takeAsked(), [`GET ${path}`, "POST /api/v1/nodes"]);
  const { metadata, spec, status } = node();
  assert.deepEqual(metadata?.labels, {
    "kubernetes.io/hostname": "edge-7",
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "arm64",
    [label]: "true",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
  });
  assert.deepEqual(spec?.taints, [{ key: label, effect: "NoSchedule" }]);
  assert.deepEqual(status?.capacity, { cpu: "4", memory: "8Gi", "ephemeral-storage": "100Gi", pods: "0" });
  assert.deepEqual(status?.allocatable, {
    cpu: "3600m",
    memory: "7969177Ki",
    "ephemeral-storage": "100Gi",
    pods: "0",
  });
  assert.deepEqual(status?.addresses, [
    { type: "InternalIP", address: "192.0.2.7" },
    { type: "InternalIP", address: "2001:db8::7" },
    { type: "Hostname", address: "edge-7.example.com" },
  ]);
  assert.equal(status?.nodeInfo?.kubeletVersion, "v1.2.3+nckubelet");
  assert.deepEqual(status?.conditions?.map(({ type, status }) => `${type}=${status}`), [
    ...["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"],
  ]);
  assert.equal(registration.node?.registered, true);
});

test("syncOnce() gives a new Node the labels and taints of the flags, again after it was deleted, and changes no others", async () => {
  const { api, registration, node } = setUp();
  const flags = {
    labels: { zone: "a" },
    taints: [{ key: "dedicated", value: "lab", effect: "NoExecute" as const }],
  };
  const both = () => [node().metadata?.labels?.zone, node().spec?.taints?.map(({ key }) => key)];
  await registration.syncOnce({ ...picture, ...flags });
  assert.deepEqual(both(), ["a", [label, "dedicated"]]);
  api.touch(path, ({ metadata, spec }) => {
    metadata.labels.zone = "b";
    spec.taints = [];
  });
  await registration.syncOnce({ ...picture, ...flags });
  assert.deepEqual(both(), ["b", []]);
  api.objects.delete(path);
  await registration.syncOnce({ ...picture, ...flags });
  assert.deepEqual(both(), ["a", [label, "dedicated"]]);
});

test("syncOnce() names the version of its API server as the kubelet's, and its own as the runtime's", async () => {
  const { registration, node } = setUp();
  const info =
    () => [node().status?.nodeInfo?.kubeletVersion, node().status?.nodeInfo?.containerRuntimeVersion];
  for (const serverVersion of ["v1.36.4", "v1.36.4-eks-7f9249a", "v1.36.4+k3s1"]) {
    await registration.syncOnce({ ...picture, serverVersion });
    assert.deepEqual(info(), ["v1.36.4+nckubelet", "nckubelet://1.2.3"]);
  }
  for (const serverVersion of [undefined, "of unknown version"]) {
    await registration.syncOnce({ ...picture, serverVersion });
    assert.deepEqual(info(), ["v1.2.3+nckubelet", "nckubelet://1.2.3"]);
  }
  assert.equal(registration.node?.registered, true);
});

test("syncOnce() writes an unchanged Node of its own once in five minutes", async () => {
  const { api, registration, pass, node } = setUp();
  await registration.syncOnce(picture);
  api.takeAsked();
  for (let times = 0; times < 20; times++) {
    pass(minute);
    await registration.syncOnce(picture);
  }
  const writes = api.takeAsked().filter((asked) => !asked.startsWith("GET"));
  assert.deepEqual(writes, Array(4).fill(`PATCH ${path}/status`));
  const [condition] = node().status!.conditions!;
  assert.deepEqual([condition!.lastTransitionTime, condition!.lastHeartbeatTime], [
    ...["2030-01-01T00:00:00Z", "2030-01-01T00:20:00Z"],
  ]);
});

test("syncOnce() writes pressure and readiness at once, and the time of the change", async () => {
  const { registration, pass, node } = setUp();
  await registration.syncOnce(picture);
  pass(1000);
  const pressures = stepPressure(noPressure, { ...calmUsage, memoryAvailableBytes: 1 << 20 }, start);
  await registration.syncOnce({
    ...picture,
    pressures,
    ready: { ready: false, message: "cgroups are gone" },
  });
  const told = node().status!.conditions!.map((
    { type, status, lastTransitionTime },
  ) => [type, status, lastTransitionTime]);
  assert.deepEqual(told, [
    ["MemoryPressure", "True", "2030-01-01T00:00:01Z"],
    ["DiskPressure", "False", "2030-01-01T00:00:00Z"],
    ["PIDPressure", "False", "2030-01-01T00:00:00Z"],
    ["Ready", "False", "2030-01-01T00:00:01Z"],
  ]);
});

test("syncOnce() adds only its label to a kubelet's Node, once", async () => {
  const { api, registration, pass, node } = setUp();
  api.put(path, kubeletNode());
  const before = structuredClone(node());
  await registration.syncOnce(picture);
  pass(10 * minute);
  await registration.syncOnce(picture);
  assert.deepEqual(api.takeAsked(), [`GET ${path}`, `PATCH ${path}`, `GET ${path}`]);
  assert.equal(registration.node?.registered, false);
  const { metadata, spec, status } = node();
  assert.deepEqual(metadata?.labels, { ...before.metadata?.labels, [label]: "true" });
  assert.equal(metadata?.annotations, undefined);
  assert.deepEqual([spec, status], [before.spec, before.status]);
});

test("syncOnce() adopts a Node without a kubelet, and keeps what users set there", async () => {
  const { api, registration, node } = setUp();
  const condition = {
    type: "NetworkUnavailable",
    status: "False",
    lastHeartbeatTime: "2029-12-31T23:59:59Z",
  };
  const { metadata, spec } = kubeletNode();
  api.put(path, {
    metadata: { ...metadata, annotations: { owner: "me" } },
    spec,
    status: { conditions: [condition] },
  });
  await registration.syncOnce(picture);
  assert.deepEqual(node().metadata?.annotations, { owner: "me", [mark]: "nckubelet" });
  assert.equal(node().metadata?.labels?.zone, "a");
  assert.deepEqual(node().spec?.taints?.map(({ key }) => key), ["own", label]);
  assert.deepEqual(node().status?.conditions?.at(-1), condition);
  assert.equal(ownerOf(node()), "agent");
});

test("syncOnce() does not restore labels and taints that users removed from its Node, except its own label", async () => {
  const { api, registration, node } = setUp();
  await registration.syncOnce(picture);
  api.put(path, { ...node(), metadata: { ...node().metadata, labels: {} }, spec: {} });
  await registration.syncOnce(picture);
  assert.deepEqual([node().metadata?.labels, node().spec], [{ [label]: "true" }, {}]);
});

test("syncOnce() steps back when a kubelet takes over the Node, and says how an administrator removes the taint", async () => {
  const { api, registration, log, node } = setUp();
  await registration.syncOnce(picture);
  const kubelet = { ...node().status!.nodeInfo!, kubeletVersion: "v1.34.1" };
  api.put(path, {
    ...node(),
    spec: { taints: [...node().spec!.taints!, { key: "own", effect: "NoExecute" }] },
    status: { ...node().status, nodeInfo: kubelet },
  });
  await registration.syncOnce(picture);
  assert.equal(registration.node?.registered, false);
  assert.deepEqual(node().spec?.taints?.map(({ key }) => key), [label, "own"]);
  assert.match(log.text(), /kubectl taint node edge-7 app\.example\.com\/nckubelet:NoSchedule-/);
  assert.deepEqual([node().metadata?.annotations, node().metadata?.labels?.[label]], [{}, "true"]);
  assert.equal(node().status?.nodeInfo?.kubeletVersion, "v1.34.1");
});

test("syncOnce() takes over a kubelet's Node with always, and touches none with never", async () => {
  const always = setUp("always");
  always.api.put(path, kubeletNode());
  await always.registration.syncOnce(picture);
  assert.equal(ownerOf(always.node()), "agent");
  assert.equal(always.registration.node?.registered, true);

  const never = setUp("never");
  await never.registration.syncOnce(picture);
  assert.deepEqual(never.api.takeAsked(), []);
});

test("syncOnce() writes the hardware once it is known", async () => {
  const { registration, node } = setUp();
  await registration.syncOnce(picture);
  const hardware = {
    manufacturer: "Raspberry Pi Foundation",
    model: "4B",
    cpu: "ARM Cortex-A72",
  };
  await registration.syncOnce({ ...picture, hardware });
  assert.deepEqual(node().metadata?.annotations, {
    [mark]: "nckubelet",
    "app.example.com/hardware": "Raspberry Pi Foundation 4B",
    "app.example.com/cpu-model": "ARM Cortex-A72",
  });
});

test("syncOnce() writes nothing to a Node that changed after it was read", async () => {
  const { api, registration, node } = setUp();
  api.put(path, kubeletNode());
  api.intercept = ({ method }) =>
    void (method === "PATCH" && api.put(path, { ...node(), spec: { unschedulable: true } }));
  await assert.rejects(registration.syncOnce(picture), { status: 409 });
  assert.deepEqual(node().spec, { unschedulable: true });
});

test("syncOnce() changes nothing after an error or an answer that is no Node", async () => {
  const { api, registration } = setUp();
  for (const status of [401, 403, 429, 500, undefined]) {
    api.intercept = (request) => {
      throw problem(request, status, "Broken");
    };
    await assert.rejects(registration.syncOnce(picture), { status });
  }
  api.intercept = () => ({ welcome: "to the proxy" });
  await assert.rejects(registration.syncOnce(picture), /not a Node: an object has no name/);
  assert.deepEqual([...new Set(api.takeAsked())], [`GET ${path}`]);
});
