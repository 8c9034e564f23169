import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { createIdentitiesController } from "../../src/identities/identities.ts";
import type { CertificateRequest } from "../../src/identities/decide.ts";
import { createHub } from "../../src/kube/follower.ts";
import { certificateRequests, configMaps, nodes } from "../../src/kube/resources.ts";
import { keyDigest } from "../../src/lib/x509/x509.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { withClient } from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";
import { agentOf, clientRequest, newKeys } from "./requests.ts";

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

/** Runs a leading controller on the objects of `api` during `use`. */
async function withController(api: FakeApi, use: () => Promise<void>) {
  await withClient(api.answer, async (client) => {
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

test("a claim gets the uid of its Node as soon as that is there, once", async () => {
  const api = new FakeApi();
  const claim = { apiVersion: "v1", kind: "ConfigMap", data: { key: keyDigest(keys.publicKey) } };
  for (const name of ["edge-7", "edge-8"]) {
    const metadata = { name: `nckubelet-${name}`, namespace: "nckubelet-agents" };
    api.add(configMaps, { ...claim, metadata });
  }
  api.add(nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "edge-7", uid: "1" } } as object);
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
