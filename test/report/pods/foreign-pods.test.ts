import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pods as podResource } from "../../../src/kube/resources.ts";
import type { Identified } from "../../../src/kube/wire.ts";
import {
  createForeignPods,
  type ForeignPodsOptions,
  planForeignPod,
} from "../../../src/report/pods/foreign-pods.ts";
import type { Pod } from "../../../src/report/pods/pods.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";
import { runs } from "../../properties.ts";
import { FakeClock } from "../fake-clock.ts";
import { createTestLog } from "../test-log.ts";

const folder = "/api/v1/namespaces/default/pods";

function setUp(options: Partial<ForeignPodsOptions> = {}) {
  const api = new FakeApi();
  const clock = new FakeClock();
  const events: string[] = [];
  const foreign = createForeignPods({
    client: api.client,
    node: "n1",
    log: createTestLog(),
    clock,
    random: () => 0.5,
    record: ({ kind, name }, { type, reason, message }) =>
      events.push(`${kind} ${name} ${type} ${reason}: ${message}`),
    ...options,
  });
  /** A Pod at the server that the watch has delivered. */
  const add = (name: string, metadata: object = {}, status: object = { phase: "Pending" }) => {
    const pod: Pod = {
      metadata: { name, namespace: "default", ...metadata },
      spec: { nodeName: "n1", containers: [{ name: "debugger", image: "busybox" }] },
      status,
    };
    api.add(podResource, pod as object);
    return seen(name);
  };
  const seen = (name: string) =>
    foreign.apply(structuredClone(api.get(`${folder}/${name}`)) as Identified<Pod>);
  return { api, clock, foreign, events, add, seen };
}

test("a Pod that the agent does not run fails with a reason, an event and ended containers, once", async () => {
  const { api, clock, events, add, seen } = setUp();
  add("debug");
  await clock.advance(0);
  const { status } = api.get(`${folder}/debug`);
  assert.deepEqual([status.phase, status.reason, status.message], [
    "Failed",
    "PodNotSupported",
    "Pod was rejected: node n1 runs NCApps and no containers",
  ]);
  assert.equal(status.containerStatuses[0].state.terminated.reason, "PodNotSupported");
  seen("debug");
  await clock.advance(600_000);
  assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/debug/status`]);
  assert.deepEqual(events, ["Pod debug Warning PodNotSupported: node n1 runs NCApps and no containers"]);
});

test("a Pod is deleted when that was requested: after it has failed, at once, by its uid, and not again", async () => {
  const { api, clock, add, seen } = setUp();
  add("debug", { deletionTimestamp: "2030-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 });
  await clock.advance(0);
  assert.deepEqual(
    api.asked.map(({ method, body }) => [method, (body as { preconditions?: object }).preconditions]),
    [
      ["PATCH", undefined],
      ["DELETE", { uid: api.asked[1]!.body!.preconditions.uid, resourceVersion: undefined }],
    ],
  );
  assert.equal((api.asked[1]!.body as { gracePeriodSeconds: number }).gracePeriodSeconds, 0);
  add("kept", {
    deletionTimestamp: "2030-01-01T00:00:00Z",
    deletionGracePeriodSeconds: 0,
    finalizers: ["x/y"],
  });
  seen("kept");
  await clock.advance(600_000);
  assert.equal(api.asked.length, 2, "only its finalizers keep it");
});

test("a Pod that has ended is left as it is", async () => {
  const { api, clock, add } = setUp();
  add("done", {}, { phase: "Succeeded" });
  add("failed", {}, { phase: "Failed" });
  await clock.advance(600_000);
  assert.deepEqual(api.takeAsked(), []);
});

test("nothing is rejected while another agent acts for the node", async () => {
  const { api, clock, add } = setUp({ isActing: () => false });
  add("debug");
  await clock.advance(600_000);
  assert.deepEqual(api.takeAsked(), []);
});

test("a controller that replaces rejected Pods at once gets at most about twenty in an hour", async () => {
  const { api, clock, add } = setUp();
  const ownerReferences = [{
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "rs",
    uid: "rs",
    controller: true,
  }];
  let made = 0;
  const replace = () => {
    const last = api.objects.get(`${folder}/rs-${made}`);
    if (!last || last.status.phase === "Failed") add(`rs-${++made}`, { ownerReferences });
  };
  for (let second = 0; second < 3600; second++) {
    replace();
    await clock.advance(1000);
  }
  assert.ok(made >= 10 && made <= 22, `${made} Pods`);
});

test("a rejection that the server refuses is repeated, and one of a Pod that is gone is not", async () => {
  const { api, clock, add } = setUp();
  let answer = 403;
  api.intercept = (request) => {
    if (answer !== 200) throw problem(request, answer, "Refused", "no");
  };
  add("debug");
  await clock.advance(0);
  answer = 200;
  await clock.advance(2000);
  assert.equal(api.get(`${folder}/debug`).status.phase, "Failed");
  answer = 404;
  add("gone");
  await clock.advance(0);
  api.takeAsked();
  await clock.advance(600_000);
  assert.deepEqual(api.takeAsked(), []);
});

test("whatever state a Pod is in, it ends after at most one rejection, and is deleted exactly if that was requested", () => {
  const phases = fc.constantFrom(undefined, "Pending", "Running", "Unknown", "Succeeded", "Failed");
  fc.assert(
    fc.property(phases, fc.boolean(), (phase, isDeleting) => {
      const pod = { phase: phase as string | undefined, isDeleting, isDeleted: false };
      const steps: string[] = [];
      for (let next = planForeignPod(pod); next; next = planForeignPod(pod)) {
        steps.push(next);
        if (next === "reject") pod.phase = "Failed";
        else pod.isDeleted = true;
        assert.ok(steps.length <= 2, steps.join());
      }
      assert.equal(steps.includes("delete"), isDeleting);
      assert.equal(steps.includes("reject"), phase !== "Succeeded" && phase !== "Failed");
    }),
    runs(100),
  );
});
