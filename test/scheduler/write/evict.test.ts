import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";

import { pathOf, withApps } from "./write-scene.ts";

test("an eviction unbinds the app, reports why, and makes it Pending", async () => {
  await withApps({ web: { nodeName: "a", cpuPCT: 20 } }, async ({ cluster, evictor, stored, told }) => {
    assert.equal(await evictor.evict(cluster.apps.get("default/web")!, "Preempted", "for others"), true);
    assert.deepEqual([stored("web")?.spec.nodeName, told], [undefined, ["web Preempted"]]);
    await waitFor("the status is told", () => stored("web")?.status?.phase === "Pending");
    assert.equal(stored("web")?.status?.reason, "Preempted");
  });
});

test("an eviction is retried after a new status, but not after a new spec", async () => {
  for (const [generation, expected] of [[1, true], [2, false]] as const) {
    await withApps({ web: { nodeName: "a" } }, async ({ api, cluster, evictor }) => {
      api.touch(pathOf("web"), (app) => app.metadata.generation = generation);
      assert.equal(await evictor.evict(cluster.apps.get("default/web")!, "Preempted", "m"), expected);
    });
  }
});

test("an eviction because of a taint is counted, so that repeated ones wait; others are not", async () => {
  const specs = { web: { nodeName: "a" }, job: { nodeName: "a" } };
  await withApps(specs, async ({ cluster, evictor, evictedByTaints }) => {
    await evictor.evict(cluster.apps.get("default/web")!, "TaintEviction", "m");
    await evictor.evict(cluster.apps.get("default/job")!, "NodeLost", "m");
    assert.deepEqual(evictedByTaints, ["default/web"]);
  });
});

test("an eviction from a lost node deletes the Pod that the node has left; others do not", async () => {
  for (const [reason, released] of [["NodeLost", ["default/web on a"]], ["Preempted", []]] as const) {
    await withApps({ web: { nodeName: "a" } }, async ({ cluster, evictor, releasedPods }) => {
      await evictor.evict(cluster.apps.get("default/web")!, reason, "m");
      assert.deepEqual(releasedPods, released);
    });
  }
});
