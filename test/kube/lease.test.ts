import assert from "node:assert/strict";
import { test } from "node:test";
import { type LeaseClaim, renewed, renewLease } from "../../src/kube/lease.ts";
import { leases } from "../../src/kube/resources.ts";
import { FakeApi } from "./fake-api.ts";

const claim: LeaseClaim = { namespace: "kube-node-lease", name: "nckubelet-a", holder: "a", seconds: 40 };
const collection = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const at = (iso: string) => Date.parse(iso);
const held = (holder: string) => renewed(undefined, { ...claim, holder }, at("2026-01-01T00:00:00Z"));
const methods = ({ asked }: FakeApi) => asked.map(({ method }) => method).join(" ");

test("renewLease() creates a missing Lease, and renews it with one request", async () => {
  const api = new FakeApi();
  let last = await renewLease(api.client, claim, { now: () => at("2026-01-01T00:00:01.5Z") });
  const created = {
    holderIdentity: "a",
    leaseDurationSeconds: 40,
    acquireTime: "2026-01-01T00:00:01.500000Z",
    renewTime: "2026-01-01T00:00:01.500000Z",
    leaseTransitions: 0,
  };
  assert.deepEqual(last?.spec, created);
  last = await renewLease(api.client, claim, { last, now: () => at("2026-01-01T00:00:10Z") });
  assert.equal(methods(api), "GET POST PUT");
  assert.deepEqual(last?.spec, { ...created, renewTime: "2026-01-01T00:00:10.000000Z" });
});

test("renewLease() reads a Lease again that another client changed, and keeps its annotations", async () => {
  const api = new FakeApi();
  api.add(leases, held("a"));
  api.intercept = ({ method }) => {
    if (method !== "PUT" || api.asked.length > 2) return;
    api.touch(`${collection}/nckubelet-a`, ({ metadata }) => metadata.annotations = { theirs: "1" });
  };
  const lease = await renewLease(api.client, { ...claim, annotations: { ours: "2" } });
  assert.equal(methods(api), "GET PUT GET PUT");
  assert.deepEqual(lease?.metadata?.annotations, { theirs: "1", ours: "2" });
});

test("renewLease() renews a Lease that another client created meanwhile", async () => {
  const api = new FakeApi();
  api.intercept = ({ method }) => void (method === "POST" && api.add(leases, held("a")));
  await renewLease(api.client, claim);
  assert.equal(methods(api), "GET POST GET PUT");
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
