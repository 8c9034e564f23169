import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeFinalizer } from "../../../src/api/names.ts";
import type { NodePresence } from "../../../src/scheduler/state/state.ts";
import { createFinalizerWriter } from "../../../src/scheduler/write/write.ts";
import { settled } from "../../report/fake-clock.ts";
import { waitFor } from "../../wait-for.ts";
import { pathOf, type Scene, withApps } from "./write-scene.ts";

function setUp(scene: Scene, presence: { of: NodePresence } = { of: "present" }) {
  const finalizers = createFinalizerWriter({ ...scene, presenceOf: () => presence.of });
  scene.cluster.onAppChanged = finalizers.check;
  const change = (name: string, edit: Parameters<typeof scene.api.touch>[1]) => {
    scene.api.touch(pathOf(name), edit);
    scene.cluster.apps.apply(structuredClone(scene.stored(name)!));
  };
  return { finalizers, change };
}

const deletionTimestamp = new Date().toISOString();

test("a bound app gets the finalizer; a deleted one loses it when its agent has reported its end", async () => {
  await withApps({ web: { nodeName: "a" }, free: {} }, async (scene) => {
    const { change, finalizers } = setUp(scene);
    await waitFor("it has the finalizer", () => scene.stored("web")?.metadata.finalizers?.length);
    assert.equal(scene.requests.length, 1, "the app without a node is left alone");
    change("web", (app) => {
      app.metadata.deletionTimestamp = deletionTimestamp;
      app.status = { nodeName: "a", restarts: 0 };
    });
    assert.equal(scene.cluster.snapshot.node("a")?.apps.size, 1);
    change(
      "web",
      (app) => app.status = { ...app.status, nodeName: "", observedGeneration: app.metadata.generation },
    );
    assert.equal(scene.cluster.snapshot.node("a")?.apps.size, 0, "its share is free at once");
    // The real server answers with the version before, since the object is gone.
    const { resourceVersion } = scene.stored("web")!.metadata;
    scene.api.intercept = ({ method }) =>
      method === "PATCH"
        ? { ...scene.stored("web"), metadata: { ...scene.stored("web")!.metadata, resourceVersion } }
        : undefined;
    await waitFor("it is removed", () => scene.requests.length === 2);
    finalizers.tick();
    await settled();
    assert.deepEqual(scene.requests[1]!.body.metadata.finalizers, null);
    assert.equal(scene.requests.length, 2, "it is not removed twice");
  });
});

test("when the node that holds a moved app is lost, its share is freed and the status says so", async () => {
  await withApps({ web: { nodeName: "a", cpuPCT: 20 } }, async (scene) => {
    const presence = { of: "present" as NodePresence };
    const { finalizers, change } = setUp(scene, presence);
    await waitFor(
      "it has the finalizer",
      () => scene.stored("web")?.metadata.finalizers?.includes(nodeFinalizer),
    );
    change("web", (app) => app.status = { nodeName: "a", restarts: 0 });
    change("web", (app) => app.spec.nodeName = "b");
    const used = () => ["a", "b"].map((node) => scene.cluster.snapshot.node(node)?.usedCpu);
    assert.deepEqual(used(), [20_000, 20_000]);
    finalizers.tick();
    presence.of = "lost";
    finalizers.tick();
    await waitFor("it is released", () => scene.stored("web")?.status?.nodeName === "");
    await waitFor("its share is free", () => used()[0] === 0);
  });
});

test("a scheduler whose Lease is in doubt waits for the next tick, and does not ask all the time", async () => {
  await withApps({ web: { nodeName: "a" } }, async (scene) => {
    const [doubted, most] = [{ times: 0 }, 100];
    scene.permission.mayWrite = false;
    const finalizers = createFinalizerWriter({
      ...scene,
      presenceOf: () => "present",
      mayWrite: () => scene.permission.mayWrite || ++doubted.times > most,
    });
    await settled();
    assert.ok(doubted.times < most, `asked ${doubted.times} times`);
    assert.equal(scene.requests.length, 0);
    scene.permission.mayWrite = true;
    finalizers.tick();
    await waitFor("it has the finalizer", () => scene.stored("web")?.metadata.finalizers?.length);
  });
});
