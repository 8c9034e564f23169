import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { createIdentitiesController, ofKubelet } from "../../src/identities/identities.ts";
import type { CertificateRequest } from "../../src/identities/decide.ts";
import { createHub } from "../../src/kube/follower.ts";
import type { KubeAccess } from "../../src/kube/access/access.ts";
import { certificateRequests, configMaps, leases, namespaces, nodes } from "../../src/kube/resources.ts";
import { keyDigest } from "../../src/lib/x509/x509.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { withClient } from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";
import { agentOf, clientRequest, newKeys, servingRequest } from "./requests.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const claims = "/api/v1/namespaces/nckubelet-agents/configmaps";
const keys = newKeys();

function add(api: FakeApi, name: string, { request, ...spec }: CertificateRequest, status?: object) {
  api.add(certificateRequests, {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: { ...spec, request: Buffer.from(request).toString("base64") },
    ...(status ? { status } : {}),
  } as object);
}

const decided = (type: string, lastUpdateTime: string) => ({
  conditions: [{ type, status: "True", lastUpdateTime }],
});

interface NodeParts {
  uid?: string;
  /** By an agent; else by a kubelet. */
  made: boolean;
  addresses?: string[];
}

function addNode(api: FakeApi, name: string, { uid = "1", made, addresses = [] }: NodeParts) {
  api.add(nodes, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid, annotations: made ? { "app.example.com/registered-by": "nckubelet" } : {} },
    // The version is a word of whoever maintains the Node.
    status: {
      nodeInfo: { kubeletVersion: "v1.36.4+nckubelet" },
      addresses: addresses.map((address) => ({ type: "InternalIP", address })),
    },
  } as object);
}

function addClaim(api: FakeApi, name: string, data: object, namespace = "nckubelet-agents") {
  api.add(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data } as object);
}

/** Runs a leading controller on the objects of `api` during `use`. */
async function withController(api: FakeApi, use: () => Promise<void>, access: Partial<KubeAccess> = {}) {
  await withClient(api.answer, async (direct) => {
    // What the access says; the requests go the direct way.
    const client = { ...direct, access: { ...direct.access, ...access } };
    const hub = createHub(client, silentLogger);
    const controller = createIdentitiesController({ client, log: silentLogger, hub });
    const stopping = new AbortController();
    const { signal } = stopping;
    const work = [controller.follow(signal), controller.lead({ signal, isLeader: () => true })];
    try {
      await use();
    } finally {
      stopping.abort();
      await Promise.all(work);
    }
  });
}

const endOf = (api: FakeApi, name: string) => api.get(`${collection}/${name}`)?.status?.conditions?.[0];

test("the first of two requests for a name gets it, and the claim keeps it", async () => {
  const api = new FakeApi();
  add(api, "one", clientRequest("edge-7", { keys }));
  add(api, "two", clientRequest("edge-7"));
  await withController(api, async () => {
    await waitFor("both are decided", () => endOf(api, "one") && endOf(api, "two"));
  });
  const ends = ["one", "two"].map((name) => endOf(api, name));
  assert.deepEqual(ends.map(({ type }) => type).sort(), ["Approved", "Denied"]);
  assert.match(ends.find(({ type }) => type === "Denied").message, /another key/);
  const winner = keyDigest(keys.publicKey);
  const claimed = api.get(`${claims}/nckubelet-edge-7`).data.key;
  assert.equal(claimed === winner, endOf(api, "one").type === "Approved");
});

test("certificates are approved also where the controller may not read Roles", async () => {
  const api = new FakeApi();
  add(api, "one", clientRequest("edge-7"));
  api.intercept = ({ path }) => /\/(roles|rolebindings)$/.test(path) ? 403 : undefined;
  await withController(api, async () => {
    await waitFor("it is approved", () => endOf(api, "one")?.type === "Approved");
  });
});

test("no certificate has a name of a Service, and none with a domain while a proxy hides the names of the API server", async () => {
  const api = new FakeApi();
  addNode(api, "web", { made: true, addresses: ["web.team"] });
  addNode(api, "db", { made: true, addresses: ["db.example.com"] });
  api.add(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } } as object);
  add(api, "web", servingRequest("web", { names: ["web", "web.team"] }));
  add(api, "db", servingRequest("db", { names: ["db", "db.example.com"] }));
  await withController(api, async () => {
    await waitFor("both are decided", () => endOf(api, "web") && endOf(api, "db"));
  });
  assert.match(endOf(api, "web").message, /web\.team: could be that of a Service in the namespace team/);
  assert.equal(endOf(api, "db").type, "Approved");
  add(api, "db-2", servingRequest("db", { names: ["db", "db.example.com"] }));
  add(api, "db-3", servingRequest("db", { names: ["db"] }));
  await withController(api, async () => {
    await waitFor("both are decided", () => endOf(api, "db-2") && endOf(api, "db-3"));
  }, { proxy: new URL("http://127.0.0.1:1") });
  assert.match(endOf(api, "db-2").message, /db\.example\.com: could be that of the API server/);
  assert.equal(endOf(api, "db-3").type, "Approved");
});

test("a claim gets the uid of its Node as soon as that is there, once", async () => {
  const api = new FakeApi();
  const claim = { apiVersion: "v1", kind: "ConfigMap", data: { key: keyDigest(keys.publicKey) } };
  for (const name of ["edge-7", "edge-8"]) {
    const metadata = { name: `nckubelet-${name}`, namespace: "nckubelet-agents" };
    api.add(configMaps, { ...claim, metadata });
  }
  addNode(api, "edge-7", { made: true, uid: "1" });
  await withController(api, async () => {
    await waitFor("it is bound", () => api.get(`${claims}/nckubelet-edge-7`).data.node);
  });
  assert.equal(api.get(`${claims}/nckubelet-edge-7`).data.node, "1");
  assert.equal(api.get(`${claims}/nckubelet-edge-8`).data.node, undefined);
});

test("requests that were decided long ago go; others, and those of other requesters, stay", async () => {
  const api = new FakeApi();
  const [old, recent] = ["2026-01-01T00:00:00Z", new Date().toISOString()];
  add(api, "old", clientRequest("edge-7"), decided("Denied", old));
  add(api, "issued", clientRequest("edge-7"), { ...decided("Approved", old), certificate: "AAAA" });
  add(api, "unsigned", clientRequest("edge-7"), decided("Approved", old));
  add(api, "recent", clientRequest("edge-7"), decided("Denied", recent));
  add(
    api,
    "foreign",
    clientRequest("edge-7", { username: "alice", groups: [] }),
    decided("Denied", old),
  );
  add(api, "asked", clientRequest("", { username: "alice", groups: [], commonName: "alice" }));
  await withController(api, async () => {
    await waitFor(
      "the old ones are gone",
      () => !api.get(`${collection}/old`) && !api.get(`${collection}/issued`),
    );
  });
  const left = [...api.objects.keys()].filter((path) => path.startsWith(collection));
  assert.deepEqual(
    left.map((path) => path.split("/").at(-1)).sort(),
    ["asked", "foreign", "recent", "unsigned"],
  );
  assert.equal(endOf(api, "asked"), undefined);
});

test("a request without end takes no memory, and is denied", async () => {
  const api = new FakeApi();
  add(api, "huge", clientRequest("edge-7", { ...agentOf("edge-7"), request: "x".repeat(1 << 20) }));
  await withController(api, async () => {
    await waitFor("it is denied", () => endOf(api, "huge")?.type === "Denied");
  });
  assert.match(endOf(api, "huge").message, /more than 4096/);
});

const key = keyDigest(keys.publicKey);

test("a name that turns out to be a kubelet's gives no right over its Node, unless an administrator invites the agent", async () => {
  const api = new FakeApi();
  addClaim(api, "nckubelet-worker-4", { key });
  addClaim(api, "nckubelet-worker-5", { key, node: "0" });
  addClaim(api, "nckubelet-worker-6", { key, invited: "true" });
  addClaim(api, "nckubelet-worker-7", { key, node: "1" });
  addClaim(api, "refused-nodes", { "worker-9": "stolen on Monday", "worker-8": ofKubelet });
  addClaim(api, "nckubelet-worker-8", {});
  addClaim(api, "nckubelet-worker-9", {});
  for (const at of [4, 5, 6, 7, 8, 9]) addNode(api, `worker-${at}`, { made: false });
  await withController(api, async () => {
    await waitFor("the list is right", () => {
      const { data } = api.get(`${claims}/refused-nodes`);
      return data["worker-4"] && data["worker-5"] && !data["worker-8"];
    });
    await waitFor("the invited one is bound", () => api.get(`${claims}/nckubelet-worker-6`).data.node);
  });
  assert.deepEqual(api.get(`${claims}/refused-nodes`).data, {
    "worker-4": ofKubelet,
    "worker-5": ofKubelet,
    "worker-9": "stolen on Monday",
  });
  assert.equal(api.get(`${claims}/nckubelet-worker-4`).data.node, undefined);
});

test("a claim without a Node goes after a day, unless its agent lives", async () => {
  const api = new FakeApi();
  const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  addClaim(api, "nckubelet-squatted", { key, since: at(25) });
  addClaim(api, "nckubelet-gone", { key, since: at(25), node: "1" });
  addClaim(api, "nckubelet-new", { key, since: at(23) });
  addClaim(api, "nckubelet-living", { key, since: at(25) });
  addClaim(api, "nckubelet-invited", {});
  addClaim(api, "nckubelet-there", { key, since: at(25) });
  addNode(api, "there", { made: true });
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  api.add(
    leases,
    { ...lease, metadata: { name: "nckubelet-living", namespace: "kube-node-lease" } } as object,
  );
  await withController(api, async () => {
    await waitFor(
      "they are gone",
      () => !api.get(`${claims}/nckubelet-squatted`) && !api.get(`${claims}/nckubelet-gone`),
    );
    await waitFor("the other is bound", () => api.get(`${claims}/nckubelet-there`).data.node);
  });
  for (const name of ["new", "living", "invited", "there"]) assert.ok(api.get(`${claims}/nckubelet-${name}`));
});

test("names that got a certificate today and have no Node count against new ones; agents that register none do not", async () => {
  const api = new FakeApi();
  const [today, before] = [0, 25].map((hours) => new Date(Date.now() - hours * 3_600_000).toISOString());
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  for (let at = 0; at < 200; at++) {
    addClaim(api, `nckubelet-n${at}`, { key, since: at === 0 ? before : today });
    const metadata = { name: `nckubelet-n${at}`, namespace: "kube-node-lease" };
    api.add(leases, { ...lease, metadata } as object);
  }
  const attempt = async (name: string) => {
    add(api, name, clientRequest(name));
    await withController(api, async () => void await waitFor("it is decided", () => endOf(api, name)));
    return endOf(api, name);
  };
  assert.equal((await attempt("edge-7")).type, "Approved");
  const { type, message } = await attempt("edge-8");
  assert.equal(type, "Denied");
  assert.match(message, /^200 nodes got certificates and registered no Node/);
});

test("an address that a node has in its certificate stays its own, whatever other agents list; a kubelet's always wins", async () => {
  const [victim, thief, worker] = ["10.0.0.7", "10.0.0.8", "10.0.0.9"];
  const api = new FakeApi();
  const settle = (node: string, addresses: string[], data: object = {}) => {
    addNode(api, node, { made: true, addresses });
    addClaim(api, `nckubelet-${node}`, { key, node: "1", ...data });
  };
  settle("victim", [victim, worker]);
  settle("thief", [thief]);
  const ask = async (name: string, node: string, ...names: string[]) => {
    add(api, name, servingRequest(node, { names }));
    await withController(api, async () => void await waitFor(`${name} is decided`, () => endOf(api, name)));
    return endOf(api, name);
  };
  assert.equal((await ask("one", "victim", victim, worker)).type, "Approved");
  assert.equal((await ask("two", "thief", thief)).type, "Approved");
  assert.equal(api.get(`${claims}/nckubelet-thief`).data.names, thief);
  settle("thief", [thief, victim], api.get(`${claims}/nckubelet-thief`).data);
  settle("late", [victim]);
  addNode(api, "worker", { made: false, addresses: [worker] });
  assert.equal((await ask("three", "victim", victim)).type, "Approved");
  assert.match((await ask("four", "thief", victim)).message, /10\.0\.0\.7: belongs to the Node victim/);
  assert.match((await ask("five", "late", victim)).message, /10\.0\.0\.7: belongs to the Node victim/);
  assert.match((await ask("six", "victim", worker)).message, /10\.0\.0\.9: belongs to the Node worker/);
  // The machine got another address, and its old one went to another.
  settle("victim", ["10.0.0.17"], api.get(`${claims}/nckubelet-victim`).data);
  settle("thief", [thief], api.get(`${claims}/nckubelet-thief`).data);
  assert.equal((await ask("seven", "late", victim)).type, "Approved");
  settle("victim", [victim], {
    ...api.get(`${claims}/nckubelet-victim`).data,
    namedAt: "2026-01-01T00:00:00Z",
  });
  assert.equal((await ask("eight", "late", victim)).type, "Approved");
  assert.match((await ask("nine", "victim", victim)).message, /belongs to the Node late/);
});
