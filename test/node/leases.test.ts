import assert from "node:assert/strict";
import { test } from "node:test";
import { createLeaseKeeper } from "../../src/node/leases.ts";
import { createTestLog } from "../report/test-log.ts";
import { waitFor } from "../wait-for.ts";
import { FakeApi, problem } from "../kube/fake-api.ts";
import { start } from "./samples.ts";

const folder = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

const setUp = () => {
  const api = new FakeApi();
  const log = createTestLog();
  let owner: { uid: string; registered: boolean } | undefined;
  let time = start;
  let free = 0;
  const keeper = createLeaseKeeper({
    client: api.client,
    node: "n1",
    log,
    annotations: () => ({ free: String(free++) }),
    owner: () => owner,
    now: () => time,
    periodMs: 5,
  });
  return {
    api,
    log,
    keeper,
    pass: (ms: number) => void (time += ms),
    own: (next: typeof owner) => void (owner = next),
  };
};

test("renewOnce() creates the agent's Lease of 40 s, with what the agent publishes", async () => {
  const { api, keeper } = setUp();
  assert.equal(await keeper.renewOnce(), true);
  const { metadata, spec } = api.get(`${folder}/nckubelet-n1`);
  assert.deepEqual(metadata.annotations, { free: "0" });
  assert.deepEqual([spec.holderIdentity, spec.leaseDurationSeconds, spec.renewTime], [
    ...["n1", 40, "2030-01-01T00:00:00.000000Z"],
  ]);
  assert.equal(api.objects.size, 1);
});

test("renewOnce() needs one request after the first, with new annotations and a new time", async () => {
  const { api, keeper, pass } = setUp();
  await keeper.renewOnce();
  api.takeAsked();
  pass(10_000);
  await keeper.renewOnce();
  assert.deepEqual(api.takeAsked(), [`PUT ${folder}/nckubelet-n1`]);
  const { metadata, spec } = api.get(`${folder}/nckubelet-n1`);
  assert.deepEqual([metadata.annotations.free, spec.renewTime], ["1", "2030-01-01T00:00:10.000000Z"]);
});

test("renewOnce() keeps Kubernetes' own Lease for a Node that the agent registered, and only then", async () => {
  const { api, keeper, own } = setUp();
  own({ uid: "u1", registered: false });
  await keeper.renewOnce();
  assert.deepEqual([...api.objects.keys()], [`${folder}/nckubelet-n1`]);
  own({ uid: "u1", registered: true });
  await keeper.renewOnce();
  const { metadata, spec } = api.get(`${folder}/n1`);
  assert.equal(spec.holderIdentity, "n1");
  assert.deepEqual(metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "u1" }]);
  assert.equal(metadata.annotations, undefined);
});

test("renewOnce() renews one Lease if the other fails, reports it, and never throws", async () => {
  const { api, log, keeper, own } = setUp();
  own({ uid: "u1", registered: true });
  for (const status of [401, 403, 500, undefined]) {
    api.intercept = (request) => {
      if (JSON.stringify([request.path, request.body]).includes("nckubelet-n1")) {
        throw problem(request, status, "Broken");
      }
    };
    assert.equal(await keeper.renewOnce(), false);
  }
  assert.ok(api.get(`${folder}/n1`));
  assert.equal(api.get(`${folder}/nckubelet-n1`), undefined);
  assert.match(log.text(), /kube-node-lease\/nckubelet-n1/);
});

test("renewOnce() recreates a Lease that was deleted, and renews one that another client changed", async () => {
  const { api, keeper } = setUp();
  await keeper.renewOnce();
  api.objects.clear();
  assert.equal(await keeper.renewOnce(), true);
  api.put(`${folder}/nckubelet-n1`, {
    ...api.get(`${folder}/nckubelet-n1`),
    spec: { holderIdentity: "thief" },
  });
  assert.equal(await keeper.renewOnce(), true);
  assert.equal(api.get(`${folder}/nckubelet-n1`).spec.holderIdentity, "n1");
});

test("run() renews until its signal aborts", async () => {
  const { api, keeper, pass } = setUp();
  const ending = new AbortController();
  api.intercept = () => {
    pass(1000);
    if (api.asked.length === 6) ending.abort();
  };
  await keeper.run(ending.signal);
  assert.ok(api.asked.length >= 6);
});

test("run() keeps renewing while the machine's clock is set back repeatedly", async () => {
  const { api, keeper, pass } = setUp();
  const stopping = new AbortController();
  const running = keeper.run(stopping.signal);
  await waitFor("several renewals", () => {
    pass(-3_600_000);
    return api.asked.length > 5;
  });
  stopping.abort();
  await running;
});
