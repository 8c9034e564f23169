import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { createDisruptions, mustLeave } from "../../../src/scheduler/write/disruptions.ts";
import { app } from "../sample-cluster.ts";
import { waitFor } from "../../wait-for.ts";
import { pathOf, withApps } from "./write-scene.ts";

const asked = (observedGeneration = 1, nodeName = "a"): NCAppStatus => ({
  phase: "Running",
  nodeName,
  conditions: [{ type: "DisruptionTarget", status: "True", observedGeneration }],
});

test("an app leaves if the agent that holds it asks for that, about its newest bind", () => {
  const leaves = (given: object, status = asked()) =>
    mustLeave({ ...app("web", { nodeName: "a" }), generation: 1, status, ...given });
  assert.equal(leaves({}), true);
  assert.equal(leaves({ generation: 2 }), false);
  assert.equal(leaves({}, asked(1, "b")), false);
  assert.equal(leaves({ mirror: true }), false);
  assert.equal(leaves({ deleting: true }), false);
  assert.equal(leaves({ ours: false }), false);
  assert.equal(leaves({ finished: true }), false);
  assert.equal(leaves({}, { phase: "Running", nodeName: "a" }), false);
});

test("an app whose Pod was evicted is unbound, and again if that failed", async () => {
  await withApps({ web: { nodeName: "a" } }, async ({ api, cluster, evictor, stored, permission }) => {
    const disruptions = createDisruptions({ cluster, evictor });
    permission.mayWrite = false;
    const { generation = 1 } = stored("web")!.metadata as { generation?: number };
    cluster.apps.apply(api.touch(pathOf("web"), (object) => object.status = asked(generation)));
    disruptions.check(cluster.apps.get("default/web")!);
    await waitFor("it was tried", () => api.asked.length === 0);
    assert.equal(stored("web")!.spec.nodeName, "a");
    permission.mayWrite = true;
    await waitFor("it is unbound", () => (disruptions.tick(), stored("web")!.spec.nodeName === undefined));
  });
});
