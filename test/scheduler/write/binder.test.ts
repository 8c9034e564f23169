import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";

import { pathOf, type Scene, withApps } from "./write-scene.ts";

test("a bind has uid and resourceVersion, and counts before it is answered", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ cluster, binder, stored, requests, told, unbound }) => {
    const app = cluster.apps.get("default/web")!;
    const done = binder.bind(app, "a", { memPCT: "5" });
    assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
    await done;
    const { uid, resourceVersion } = app;
    assert.deepEqual(requests[0]!.body, {
      metadata: { uid, resourceVersion, finalizers: ["app.example.com/node"] },
      spec: { nodeName: "a", memPCT: "5" },
    });
    assert.equal(stored("web")?.spec.nodeName, "a");
    assert.deepEqual([told, unbound, cluster.apps.get("default/web")?.nodeName], [
      ["web Scheduled"],
      [],
      "a",
    ]);
    assert.equal(cluster.snapshot.node("a")?.usedMem, 5000);
  });
});

test("the event of a bind has the time before the bind, whatever the agent does before the answer", async () => {
  const startedAt = Date.parse("2026-01-01T00:00:00Z");
  let clock = { now: 0 };
  await withApps({ web: {} }, async (scene) => {
    clock = scene.clock;
    await scene.binder.bind(scene.cluster.apps.get("default/web")!, "a", {});
    assert.deepEqual([scene.told, scene.eventTimes], [["web Scheduled"], [startedAt]]);
  }, () => void (clock.now += 5000));
});

test("if another scheduler's bind won, it stays and counts", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ api, cluster, binder, told, unbound }) => {
    api.touch(pathOf("web"), (app) => app.spec.nodeName = "b");
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.equal(cluster.apps.get("default/web")?.nodeName, "b");
    assert.deepEqual([cluster.snapshot.node("a")?.usedCpu, cluster.snapshot.node("b")?.usedCpu], [0, 20_000]);
    assert.deepEqual([told, unbound], [[], []]);
  });
});

test("an app that was deleted in the meantime is dropped", async () => {
  await withApps({ web: {} }, async ({ api, cluster, binder, unbound }) => {
    api.objects.clear();
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.deepEqual([cluster.apps.get("default/web"), unbound], [undefined, []]);
  });
});

test("a bind without an answer keeps its share until the app was read, then the server's version counts", async () => {
  for (const arrived of [true, false]) {
    let first = true;
    await withApps({ web: { cpuPCT: 20 } }, async ({ cluster, binder, unbound }) => {
      const done = binder.bind(cluster.apps.get("default/web")!, "a", {});
      await done;
      assert.equal(cluster.snapshot.node("a")?.usedCpu, arrived ? 20_000 : 0);
      assert.deepEqual(unbound, arrived ? [] : ["default/web"]);
    }, ({ method }, api) => {
      if (method !== "PATCH" || !first) return undefined;
      first = false;
      if (arrived) api.touch(pathOf("web"), (app) => app.spec.nodeName = "a");
      return 0;
    });
  }
});

test("the answer to a write does not restore an app that was deleted in the meantime", async () => {
  type Write = (scene: Scene) => Promise<unknown>;
  const writes: Record<string, Write> = {
    bind: ({ cluster, binder }) => binder.bind(cluster.apps.get("default/web")!, "a", {}),
    evict: ({ cluster, evictor }) => evictor.evict(cluster.apps.get("default/bound")!, "Preempted", "m"),
    status: async ({ writer }) => {
      writer.write("default/web", { kind: "refused", message: "m" });
      await waitFor("it is written", () => !writer.isPending("default/web"));
    },
  };
  for (const [what, write] of Object.entries(writes)) {
    let cluster: Scene["cluster"] | undefined;
    await withApps({ web: { cpuPCT: 20 }, bound: { nodeName: "b", cpuPCT: 20 } }, async (scene) => {
      cluster = scene.cluster;
      await write(scene);
      assert.deepEqual([...cluster.apps], [], what);
      assert.deepEqual(cluster.accounts.usage.of("default"), { cpu: 0, mem: 0 }, what);
    }, () => {
      for (const { key, uid } of [...cluster!.apps]) cluster!.apps.remove(key, uid);
      return undefined;
    });
  }
});

test("a bind that the server rejects is reported and retried later", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ cluster, binder, told, unbound }) => {
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.deepEqual([told, unbound, cluster.snapshot.node("a")?.usedCpu], [["web FailedScheduling"], [
      "default/web",
    ], 0]);
  }, ({ method }) => method === "PATCH" ? 403 : undefined);
});

test("a scheduler that no longer leads sends nothing", async () => {
  await withApps(
    { web: {}, bound: { nodeName: "a" } },
    async ({ cluster, binder, evictor, permission, requests, unbound }) => {
      permission.mayWrite = false;
      await binder.bind(cluster.apps.get("default/web")!, "a", {});
      assert.equal(await evictor.evict(cluster.apps.get("default/bound")!, "Preempted", "m"), false);
      assert.deepEqual([requests.length, unbound], [0, ["default/web"]]);
    },
  );
});
