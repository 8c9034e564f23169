import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersion, kind } from "../../../src/api/names.ts";
import { pods } from "../../../src/kube/resources.ts";
import { readApp } from "../../../src/scheduler/state/state.ts";
import { createPodRelease } from "../../../src/scheduler/write/write.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";
import { createTestLog } from "../../report/test-log.ts";
import { ncapp } from "../sample-cluster.ts";

const folder = "/api/v1/namespaces/default/pods";
const app = readApp(ncapp("web", { nodeName: "lost" }));
const own = {
  metadata: {
    name: "web",
    namespace: "default",
    ownerReferences: [{ apiVersion, kind, name: "web", uid: app.uid, controller: true }],
  },
  spec: { nodeName: "lost" },
};

function setUp(pod: object) {
  const api = new FakeApi();
  const log = createTestLog();
  api.add(pods, pod);
  return { api, log, release: createPodRelease(api.client, { log, signal: new AbortController().signal }) };
}

test("the Pod that a lost node has left is deleted at once, by its uid", async () => {
  const { api, release } = setUp(own);
  const { uid } = api.get(`${folder}/web`).metadata;
  await release(app);
  assert.deepEqual(api.asked.map(({ method, body }) => [method, body]).at(-1), ["DELETE", {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds: 0,
    preconditions: { uid, resourceVersion: undefined },
  }]);
});

test("a Pod of its name that is not the app's, or is on another node, stays", async () => {
  const [owner] = own.metadata.ownerReferences;
  const others: Record<string, object> = {
    "of a user": { metadata: { ...own.metadata, ownerReferences: undefined }, spec: own.spec },
    "of an earlier app": {
      metadata: { ...own.metadata, ownerReferences: [{ ...owner, uid: "earlier" }] },
      spec: own.spec,
    },
    "of a ReplicaSet": {
      metadata: {
        ...own.metadata,
        ownerReferences: [{ ...owner, kind: "ReplicaSet", apiVersion: "apps/v1" }],
      },
      spec: own.spec,
    },
    "on the next node": { ...own, spec: { nodeName: "next" } },
  };
  for (const [what, pod] of Object.entries(others)) {
    const { api, release } = setUp(pod);
    await release(app);
    assert.deepEqual(api.takeAsked(), [`GET ${folder}/web`], what);
  }
});

test("a controller without the right goes on, and says so only to who looks closely", async () => {
  const { api, log, release } = setUp(own);
  api.intercept = (request) => {
    throw problem(request, 403, "Forbidden", "no");
  };
  await release(app);
  assert.deepEqual(log.lines.filter((line) => !line.startsWith("debug")), []);
});
