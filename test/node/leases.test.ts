import assert from "node:assert/strict";
import { test } from "node:test";
import { createLeaseRenewer, type LeaseRenewerOptions, type Standing } from "../../src/node/leases.ts";
import { createTestLog } from "../report/test-log.ts";
import { waitFor } from "../wait-for.ts";
import { FakeApi, problem } from "../kube/fake-api.ts";
import { holder, identity, start } from "./samples.ts";

const folder = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

const setUp = (change: Partial<LeaseRenewerOptions> = {}) => {
  const api = new FakeApi();
  const log = createTestLog();
  let owner: { uid: string; registered: boolean } | undefined;
  let time = start;
  let free = 0;
  const standings: Standing["kind"][] = [];
  let onMissing = () => {};
  const renewer = createLeaseRenewer({
    client: api.client,
    node: "n1",
    identity,
    log,
    annotations: () => ({ free: String(free++) }),
    owner: () => owner,
    onMissing: () => Promise.resolve(onMissing()),
    onStanding: ({ kind }) => void standings.push(kind),
    now: () => time,
    steady: () => time,
    ...change,
  });
  return {
    api,
    log,
    renewer,
    pass: (ms: number) => void (time += ms),
    own: (next: typeof owner) => void (owner = next),
    whenMissing: (next: () => void) => void (onMissing = next),
    standings,
  };
};

test("renewOnce() creates the agent's Lease of 40 s, with what the agent publishes", async () => {
  const { api, renewer } = setUp();
  assert.equal(await renewer.renewOnce(), true);
  const { metadata, spec } = api.get(`${folder}/nckubelet-n1`);
  assert.deepEqual(metadata.annotations, { free: "0" });
  assert.deepEqual([spec.holderIdentity, spec.leaseDurationSeconds, spec.renewTime], [
    ...[holder, 40, "2030-01-01T00:00:00.000000Z"],
  ]);
  assert.equal(api.objects.size, 1);
});

test("renewOnce() needs one request after the first, with new annotations and a new time", async () => {
  const { api, renewer, pass } = setUp();
  await renewer.renewOnce();
  api.takeAsked();
  pass(10_000);
  await renewer.renewOnce();
  assert.deepEqual(api.takeAsked(), [`PUT ${folder}/nckubelet-n1`]);
  const { metadata, spec } = api.get(`${folder}/nckubelet-n1`);
  assert.deepEqual([metadata.annotations.free, spec.renewTime], ["1", "2030-01-01T00:00:10.000000Z"]);
});

test("renewOnce() keeps Kubernetes' own Lease for a Node that the agent registered, and only then", async () => {
  const { api, renewer, own } = setUp();
  own({ uid: "u1", registered: false });
  await renewer.renewOnce();
  assert.deepEqual([...api.objects.keys()], [`${folder}/nckubelet-n1`]);
  own({ uid: "u1", registered: true });
  await renewer.renewOnce();
  const { metadata, spec } = api.get(`${folder}/n1`);
  assert.equal(spec.holderIdentity, "n1");
  assert.deepEqual(metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "u1" }]);
  assert.equal(metadata.annotations, undefined);
});

test("renewOnce() renews one Lease if the other fails, reports it, and never throws", async () => {
  const { api, log, renewer, own } = setUp();
  own({ uid: "u1", registered: true });
  for (const status of [401, 403, 500, undefined]) {
    api.intercept = (request) => {
      if (JSON.stringify([request.path, request.body]).includes("nckubelet-n1")) {
        throw problem(request, status, "Broken");
      }
    };
    assert.equal(await renewer.renewOnce(), false);
  }
  assert.ok(api.get(`${folder}/n1`));
  assert.equal(api.get(`${folder}/nckubelet-n1`), undefined);
  assert.match(log.text(), /kube-node-lease\/nckubelet-n1/);
});

test("renewOnce() recreates a deleted Lease for the Node that there is then", async () => {
  const { api, renewer, own, whenMissing } = setUp();
  own({ uid: "u1", registered: true });
  await renewer.renewOnce();
  api.objects.clear();
  whenMissing(() => own({ uid: "u2", registered: true }));
  assert.equal(await renewer.renewOnce(), true);
  for (const name of ["nckubelet-n1", "n1"]) {
    assert.equal(api.get(`${folder}/${name}`).metadata.ownerReferences[0].uid, "u2");
  }
});

const write = (api: FakeApi, holderIdentity: string, renewTime: string) =>
  api.put(`${folder}/nckubelet-n1`, {
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 40 },
  });

test("renewOnce() leaves both Leases to another agent that renews them, however old their times are", async () => {
  const { api, renewer, own, pass, standings } = setUp();
  own({ uid: "u1", registered: true });
  for (let renewal = 1; renewal <= 9; renewal++) {
    write(api, "web_0ther_b0072_1-1", `2001-01-01T00:00:0${renewal}.000000Z`);
    assert.equal(await renewer.renewOnce(), true);
    pass(30_000);
  }
  assert.deepEqual(new Set(standings), new Set(["taken"]));
  assert.deepEqual(renewer.standing, { kind: "taken", holder: "web_0ther_b0072_1-1", renews: true });
  assert.deepEqual([...api.objects.keys()], [`${folder}/nckubelet-n1`]);
  assert.ok(api.asked.every(({ method }) => method === "GET"));
});

test("renewOnce() takes over a Lease that did not change while it lasts", async () => {
  const { api, renewer, pass } = setUp();
  write(api, "web_0ther_b0072_1-1", "2099-01-01T00:00:00.000000Z");
  await renewer.renewOnce();
  assert.deepEqual(renewer.standing, { kind: "taken", holder: "web_0ther_b0072_1-1", renews: false });
  pass(39_000);
  await renewer.renewOnce();
  assert.equal(renewer.standing.kind, "taken");
  pass(1001);
  await renewer.renewOnce();
  assert.equal(renewer.standing.kind, "free");
  assert.equal(api.get(`${folder}/nckubelet-n1`).spec.holderIdentity, holder);
});

test("renewOnce() does not wait for its own Lease, nor for one whose agent cannot run any more", async () => {
  const earlier = "renamed_5ca1ab1e_b0071_41-7";
  const ended = "edge-7_0ther_b0071_41-7";
  for (const before of [holder, earlier, ended, ""]) {
    const { api, renewer, standings } = setUp();
    write(api, before, "2099-01-01T00:00:00.000000Z");
    await renewer.renewOnce();
    assert.deepEqual(standings, ["free"]);
  }
});

test("renewOnce() leaves the Lease to an agent with another state folder that runs on this machine", async () => {
  const { api, renewer } = setUp();
  write(api, "edge-7_0ther_b0071_43-7", "2099-01-01T00:00:00.000000Z");
  await renewer.renewOnce();
  assert.equal(renewer.standing.kind, "taken");
});

test("after a reboot it waits for a period and a half, in case a machine with a copy of its disk runs", async () => {
  const { api, renewer, pass } = setUp();
  write(api, "edge-7_5ca1ab1e_b0070_1-1", "2099-01-01T00:00:00.000000Z");
  await renewer.renewOnce();
  assert.equal(renewer.standing.kind, "taken");
  pass(15_001);
  await renewer.renewOnce();
  assert.equal(renewer.standing.kind, "free");
});

test("an agent that was away finds that another one has taken its Lease", async () => {
  const { api, renewer, standings } = setUp();
  await renewer.renewOnce();
  write(api, "web_0ther_b0072_1-1", "2001-01-01T00:00:00.000000Z");
  assert.equal(await renewer.renewOnce(), true);
  assert.deepEqual(standings, ["free", "taken"]);
});

test("of two agents that take an expired Lease together, one gets it", async () => {
  const { api, renewer, pass } = setUp();
  write(api, "web_0ther_b0072_1-1", "2001-01-01T00:00:00.000000Z");
  await renewer.renewOnce();
  pass(40_001);
  api.intercept = ({ method }) => {
    if (method === "PUT") write(api, "third_0ther_b0073_1-1", "2001-01-01T00:00:00.000000Z");
  };
  assert.equal(await renewer.renewOnce(), true);
  assert.deepEqual(renewer.standing, { kind: "taken", holder: "third_0ther_b0073_1-1", renews: true });
});

test("an agent that may not read Leases acts for its node, since it cannot know of another", async () => {
  const { api, renewer, standings } = setUp();
  api.intercept = () => 500;
  await renewer.renewOnce();
  assert.deepEqual(standings, []);
  api.intercept = () => 403;
  assert.equal(await renewer.renewOnce(), false);
  assert.deepEqual(standings, ["free"]);
});

test("run() renews until its signal aborts", async () => {
  const { api, renewer, pass } = setUp({ periodMs: 5 });
  const ending = new AbortController();
  api.intercept = () => {
    pass(1000);
    if (api.asked.length === 6) ending.abort();
  };
  await renewer.run(ending.signal);
  assert.ok(api.asked.length >= 6);
});

test("run() keeps renewing while the machine's clock is set back repeatedly", async () => {
  const { api, renewer, pass } = setUp({ periodMs: 5 });
  const stopping = new AbortController();
  const running = renewer.run(stopping.signal);
  await waitFor("several renewals", () => {
    pass(-3_600_000);
    return api.asked.length > 5;
  });
  stopping.abort();
  await running;
});
