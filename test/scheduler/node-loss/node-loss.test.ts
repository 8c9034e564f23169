import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodeLossHandler, createNodePresences } from "../../../src/scheduler/node-loss/node-loss.ts";
import { waitFor } from "../../wait-for.ts";
import { type Scene, withApps } from "../write/write-scene.ts";

const handlerIn = (scene: Scene, more: Partial<Parameters<typeof createNodeLossHandler>[0]> = {}) =>
  createNodeLossHandler({ ...scene, now: () => scene.clock.now, ...more });

test("a lost node is reported once, and its apps are marked and then unbound", async () => {
  await withApps({ web: { nodeName: "a" } }, async (scene) => {
    const { cluster, clock, beat, stored, told } = scene;
    const handle = handlerIn(scene, { defaultTolerationMs: 60_000 });
    const pass = (seconds: number) => {
      clock.now += seconds * 1000;
      beat("b");
      handle(cluster.liveness.check());
    };
    pass(41);
    pass(1);
    await waitFor("it is Unknown", () => stored("web")?.status?.phase === "Unknown");
    assert.deepEqual(told, ["web NodeLost"]);
    pass(60);
    await waitFor("it is unbound", () => stored("web")?.spec.nodeName === undefined);
  });
});

test("paused evictions are reported once, on the scheduler's namespace and on the nodes", async () => {
  await withApps({}, async (scene) => {
    const { cluster, clock, told } = scene;
    const handle = handlerIn(scene);
    clock.now += 41_000;
    for (let round = 0; round < 3; round++) handle(cluster.liveness.check());
    assert.deepEqual(told.sort(), ["a EvictionsPaused", "b EvictionsPaused", "nckubelet EvictionsPaused"]);
  });
});

test("a node that was lost counts as present while the Leases cannot be watched", async () => {
  await withApps({ web: { nodeName: "a" } }, async (scene) => {
    const { cluster, clock, beat } = scene;
    const presences = createNodePresences({ observed: () => clock.now });
    const handle = handlerIn(scene, { presences });
    const presence = () => presences.of(cluster.apps.get("default/web")!, "a");
    clock.now += 41_000;
    beat("b");
    handle(cluster.liveness.check());
    assert.equal(presence(), "silent");
    handle(undefined);
    assert.equal(presence(), "present");
    handle(cluster.liveness.check());
    assert.equal(presence(), "silent");
  });
});
