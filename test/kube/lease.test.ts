import assert from "node:assert/strict";
import { test } from "node:test";
import { type Lease, type LeaseClaim, renewed, renewLease } from "../../src/kube/lease.ts";
import { type Answer, json, refuse, withClient } from "./fake-server.ts";

const claim: LeaseClaim = { namespace: "kube-node-lease", name: "nckubelet-a", holder: "a", seconds: 40 };
const collection = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const object = `${collection}/nckubelet-a`;
const at = (iso: string) => Date.parse(iso);

/** A server with one Lease, or none, that checks versions as the API server does. */
function leaseServer(
  stored?: Lease,
  interfere: (turn: number, store: (lease?: Lease) => void) => void = () => {},
): Answer {
  let version = 1;
  let lease = stored && { ...stored, metadata: { ...stored.metadata, uid: "1", resourceVersion: "1" } };
  const store = (next?: Lease) =>
    lease = next && { ...next, metadata: { ...next.metadata, uid: "1", resourceVersion: `${++version}` } };
  return ({ method, path, body }, response, turn) => {
    interfere(turn, store);
    if (method === "POST") {
      if (lease) return refuse(response, 409, "AlreadyExists", "it exists");
      assert.equal(path, collection);
      return json(response, store(JSON.parse(body)), 201);
    }
    assert.equal(path, object);
    if (!lease) return refuse(response, 404, "NotFound", "not found");
    if (method === "GET") return json(response, lease);
    const sent: Lease = JSON.parse(body);
    if (sent.metadata?.resourceVersion !== lease.metadata?.resourceVersion) {
      return refuse(response, 409, "Conflict", "changed");
    }
    return json(response, store(sent));
  };
}

const held = (holder: string) => renewed(undefined, { ...claim, holder }, at("2026-01-01T00:00:00Z"));
const methods = (requests: { method: string }[]) => requests.map(({ method }) => method).join(" ");

test("renewLease() creates a missing Lease", async () => {
  await withClient(leaseServer(), async (client, { requests }) => {
    const lease = await renewLease(client, claim, { now: () => at("2026-01-01T00:00:01.5Z") });
    assert.deepEqual(lease?.spec, {
      holderIdentity: "a",
      leaseDurationSeconds: 40,
      acquireTime: "2026-01-01T00:00:01.500000Z",
      renewTime: "2026-01-01T00:00:01.500000Z",
      leaseTransitions: 0,
    });
    assert.equal(methods(requests), "GET POST");
  });
});

test("renewLease() renews a known Lease with one request", async () => {
  await withClient(leaseServer(), async (client, { requests }) => {
    let last = await renewLease(client, claim, { now: () => at("2026-01-01T00:00:00Z") });
    last = await renewLease(client, claim, { last, now: () => at("2026-01-01T00:00:10Z") });
    assert.equal(methods(requests), "GET POST PUT");
    assert.equal(last?.spec?.acquireTime, "2026-01-01T00:00:00.000000Z");
    assert.equal(last?.spec?.renewTime, "2026-01-01T00:00:10.000000Z");
  });
});

test("renewLease() reads a Lease again that another client changed, and keeps its annotations", async () => {
  const before = held("a");
  const server = leaseServer(before, (turn, store) => {
    if (turn === 1) store({ ...before, metadata: { ...before.metadata, annotations: { theirs: "1" } } });
  });
  await withClient(server, async (client, { requests }) => {
    const lease = await renewLease(client, { ...claim, annotations: { ours: "2" } });
    assert.equal(methods(requests), "GET PUT GET PUT");
    assert.deepEqual(lease?.metadata?.annotations, { theirs: "1", ours: "2" });
  });
});

test("renewLease() recreates a Lease that was deleted meanwhile", async () => {
  await withClient(leaseServer(), async (client, { requests }) => {
    await renewLease(client, claim, {
      last: { ...held("a"), metadata: { ...held("a").metadata, resourceVersion: "1" } },
    });
    assert.equal(methods(requests), "PUT GET POST");
  });
});

test("renewLease() renews a Lease that another client created meanwhile", async () => {
  const server = leaseServer(undefined, (turn, store) => turn === 1 && store(held("a")));
  await withClient(server, async (client, { requests }) => {
    await renewLease(client, claim);
    assert.equal(methods(requests), "GET POST GET PUT");
  });
});

test("renewLease() gives up after five conflicts, and at once for other errors", async () => {
  const contested = leaseServer(held("a"), (_, store) => store(held("a")));
  await withClient(contested, async (client, { requests }) => {
    await assert.rejects(renewLease(client, claim), /409 Conflict/);
    assert.equal(methods(requests), "GET PUT ".repeat(5).trim());
  });
  await withClient(
    (_, response) => refuse(response, 403, "Forbidden", "no"),
    async (client, { requests }) => {
      await assert.rejects(renewLease(client, claim), /403 Forbidden/);
      assert.equal(requests.length, 1);
    },
  );
});

test("renewed() counts a change of holder", () => {
  const { spec } = renewed(held("b"), claim, at("2026-01-01T00:01:00Z"));
  assert.deepEqual([spec?.holderIdentity, spec?.leaseTransitions, spec?.acquireTime], [
    "a",
    1,
    "2026-01-01T00:01:00.000000Z",
  ]);
  const released = held("b");
  delete released.spec?.holderIdentity;
  assert.equal(renewed(released, claim, 0).spec?.leaseTransitions, 1);
});
