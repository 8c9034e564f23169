/** Binds, evictions, status and quotas against a server that answers as it is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp, NCAppSpec } from "../../../src/api/types.ts";
import type { KubeClient, KubeRequest } from "../../../src/kube/client/client.ts";
import { ncappPath } from "../../../src/kube/resources.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import type { EventNews } from "../../../src/report/events/event-aggregator.ts";
import { createBinder } from "../../../src/scheduler/write/binder.ts";
import { createEvictor } from "../../../src/scheduler/write/evict.ts";
import { createLossKeeper } from "../../../src/scheduler/node-loss/node-loss.ts";
import { createSchedulerMetrics } from "../../../src/scheduler/serve/metrics.ts";
import { createQuotaKeeper } from "../../../src/scheduler/write/quota-keeper.ts";
import { createStatusWriter } from "../../../src/scheduler/write/status-writer.ts";
import { type Asked, FakeApi } from "../../kube/fake-api.ts";
import { json, withClient } from "../../kube/fake-server.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { waitFor } from "../../wait-for.ts";
import { ncapp } from "../sample-cluster.ts";
import { quota } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

/** A scheduler's writers beside an API server with these apps. */
async function withApps(
  specs: Record<string, NCAppSpec>,
  use: (scene: Scene) => Promise<void>,
  intercept: (request: Asked, api: FakeApi) => unknown = () => undefined,
): Promise<void> {
  const api = new FakeApi();
  const scene = createTestCluster(["a", "b"]);
  for (const [name, spec] of Object.entries(specs)) api.put(pathOf(name), ncapp(name, spec));
  scene.cluster.replaceApps([...api.objects.values()].map((app) => structuredClone(app)));
  api.intercept = (request) => intercept(request, api);
  await withClient(api.answer, async (client) => {
    const stopping = new AbortController();
    try {
      await use(createScene(client, scene, api, stopping.signal));
    } finally {
      stopping.abort();
    }
  });
}

const pathOf = (name: string) => ncappPath("default", name);

type Scene = ReturnType<typeof createScene>;

function createScene(
  client: KubeClient,
  scene: ReturnType<typeof createTestCluster>,
  api: FakeApi,
  signal: AbortSignal,
) {
  const { cluster } = scene;
  const told: string[] = [];
  const recorder = {
    record: ({ name }: { name: string }, { reason }: EventNews) => void told.push(`${name} ${reason}`),
    flush: async () => {},
    close() {},
  };
  const log = silentLogger;
  const writer = createStatusWriter({
    client,
    log,
    signal,
    lookup: (key) => cluster.apps.get(key),
    apply: (object) => cluster.apps.applyAnswer(object),
    gone: (key, uid) => cluster.apps.remove(key, uid),
  });
  const permission = { mayWrite: true };
  const unbound: string[] = [];
  const parts = {
    client,
    log,
    cluster,
    writer,
    recorder,
    metrics: createSchedulerMetrics(),
    mayWrite: () => permission.mayWrite,
    signal,
  };
  const binder = createBinder({
    ...parts,
    deferred: { add: (work) => work(), flush() {} },
    onUnbound: (key) => unbound.push(key),
  });
  const evictor = createEvictor(parts);
  const stored = (name: string): NCApp | undefined => api.get(pathOf(name));
  return { ...scene, ...parts, api, stored, requests: api.asked, told, unbound, permission, binder, evictor };
}

const calls = (requests: Asked[]) =>
  requests.map(({ method, path }) => `${method} ${path.split("/ncapps/")[1]}`);

test("a bind carries uid and version, and counts before it is answered", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ cluster, binder, stored, requests, told, unbound }) => {
    const app = cluster.apps.get("default/web")!;
    const done = binder.bind(app, "a", { memPCT: "5" });
    assert.equal(cluster.snapshot.node("a")?.usedCpu, 20_000);
    await done;
    const { uid, resourceVersion } = app;
    assert.deepEqual(requests[0]!.body, {
      metadata: { uid, resourceVersion },
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

test("where another was quicker its bind stands, and counts", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ api, cluster, binder, told, unbound }) => {
    api.touch(pathOf("web"), (app) => app.spec.nodeName = "b");
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.equal(cluster.apps.get("default/web")?.nodeName, "b");
    assert.deepEqual([cluster.snapshot.node("a")?.usedCpu, cluster.snapshot.node("b")?.usedCpu], [0, 20_000]);
    assert.deepEqual([told, unbound], [[], []]);
  });
});

test("an app that was deleted meanwhile is dropped", async () => {
  await withApps({ web: {} }, async ({ api, cluster, binder, unbound }) => {
    api.objects.clear();
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.deepEqual([cluster.apps.get("default/web"), unbound], [undefined, []]);
  });
});

test("a bind whose answer was lost keeps its place until the app was read, and is then as the server has it", async () => {
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

test("an app that is deleted while a write to it is under way does not come back with the answer", async () => {
  type Write = (scene: Scene) => Promise<unknown>;
  const writes: Record<string, Write> = {
    bind: ({ cluster, binder }) => binder.bind(cluster.apps.get("default/web")!, "a", {}),
    evict: ({ cluster, evictor }) => evictor.evict(cluster.apps.get("default/bound")!, "Preempted", "m"),
    status: async ({ writer }) => {
      writer.write("default/web", { kind: "refused", message: "m" });
      await waitFor("it is written", () => writer.pending === 0);
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

test("a bind that the server refuses is told, and tried again later", async () => {
  await withApps({ web: { cpuPCT: 20 } }, async ({ cluster, binder, told, unbound }) => {
    await binder.bind(cluster.apps.get("default/web")!, "a", {});
    assert.deepEqual([told, unbound, cluster.snapshot.node("a")?.usedCpu], [["web FailedScheduling"], [
      "default/web",
    ], 0]);
  }, ({ method }) => method === "PATCH" ? 403 : undefined);
});

test("who does not lead any more sends nothing", async () => {
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

test("an eviction unbinds, tells why, and makes the app Pending", async () => {
  await withApps({ web: { nodeName: "a", cpuPCT: 20 } }, async ({ cluster, evictor, stored, told }) => {
    assert.equal(await evictor.evict(cluster.apps.get("default/web")!, "Preempted", "for others"), true);
    assert.deepEqual([stored("web")?.spec.nodeName, told], [undefined, ["web Preempted"]]);
    await waitFor("the status is told", () => stored("web")?.status?.phase === "Pending");
    assert.equal(stored("web")?.status?.reason, "Preempted");
  });
});

test("an eviction goes on after a new status, and not after a new spec", async () => {
  for (const [generation, expected] of [[1, true], [2, false]] as const) {
    await withApps({ web: { nodeName: "a" } }, async ({ api, cluster, evictor }) => {
      api.touch(pathOf("web"), (app) => app.metadata.generation = generation);
      assert.equal(await evictor.evict(cluster.apps.get("default/web")!, "Preempted", "m"), expected);
    });
  }
});

test("the newest status wins, what is said already is not sent, and what others write in between stays", async () => {
  await withApps({ web: {} }, async ({ api, cluster, writer, stored, requests }) => {
    const ready = { type: "Ready", status: "False" } as const;
    api.touch(pathOf("web"), (app) => app.status = { conditions: [ready] });
    for (const message of ["one", "two", "three"]) writer.write("default/web", { kind: "refused", message });
    await waitFor("the last is told", () => stored("web")?.status?.message === "three");
    assert.deepEqual(stored("web")?.status?.conditions?.map(({ type }) => type), ["Ready", "Scheduled"]);
    await waitFor("all is done", () => writer.pending === 0);
    // The first is refused for its version and sent again; of the others only the last, when that is over.
    assert.deepEqual(calls(requests), [
      "PATCH web/status",
      "GET web",
      "PATCH web/status",
      "PATCH web/status",
    ]);
    const before = requests.length;
    writer.write("default/web", { kind: "refused", message: "three" });
    await waitFor("all is done", () => writer.pending === 0);
    assert.equal(requests.length, before, calls(requests).join());
    assert.equal(cluster.apps.get("default/web")?.status.message, "three");
  });
});

test("a status is tried again after trouble, and given up where the server will not have it", async () => {
  let failures = 1;
  await withApps({ web: {} }, async ({ writer, stored }) => {
    writer.write("default/web", { kind: "refused", message: "m" });
    await waitFor("it is told", () => stored("web")?.status?.message === "m");
  }, ({ method }) => method === "PATCH" && failures-- > 0 ? 500 : undefined);
  await withApps({ web: {} }, async ({ writer, requests }) => {
    writer.write("default/web", { kind: "refused", message: "m" });
    await waitFor("it is given up", () => writer.pending === 0);
    assert.equal(requests.length, 1);
  }, () => 422);
});

test("a lost node is told once, and its apps are marked and then unbound", async () => {
  await withApps(
    { web: { nodeName: "a" } },
    async ({ cluster, clock, beat, writer, evictor, recorder, log, stored, told }) => {
      const keeper = createLossKeeper({
        cluster,
        writer,
        evictor,
        recorder,
        log,
        defaultTolerationMs: 60_000,
        now: () => clock.now,
      });
      const pass = (seconds: number) => {
        clock.now += seconds * 1000;
        beat("b");
        keeper.tick(cluster.liveness.check());
      };
      pass(41);
      pass(1);
      await waitFor("it is Unknown", () => stored("web")?.status?.phase === "Unknown");
      assert.deepEqual(told, ["web NodeLost"]);
      pass(60);
      await waitFor("it is unbound", () => stored("web")?.spec.nodeName === undefined);
    },
  );
});

test("that evictions are paused is told once, on a namespace that people look at and on the nodes", async () => {
  await withApps({}, async ({ cluster, clock, writer, evictor, recorder, log, told }) => {
    const keeper = createLossKeeper({ cluster, writer, evictor, recorder, log, now: () => clock.now });
    clock.now += 41_000;
    for (let round = 0; round < 3; round++) keeper.tick(cluster.liveness.check());
    assert.deepEqual(told.sort(), ["a EvictionsPaused", "b EvictionsPaused", "nckubelet EvictionsPaused"]);
  });
});

test("a quota's used is written when it changes, one request at a time", async () => {
  const bodies: string[] = [];
  await withClient(({ body }, response) => {
    bodies.push(body);
    const { status } = JSON.parse(body);
    json(response, {
      ...quota("team", { cpuPCT: "50" }, status),
      metadata: { ...quota("team", {}).metadata, resourceVersion: "2" },
    });
  }, async (client) => {
    const { cluster, apply } = createTestCluster(["a"]);
    cluster.applyQuota(quota("team", { cpuPCT: "50" }));
    apply("web", { nodeName: "a", cpuPCT: 20 });
    const keeper = createQuotaKeeper({
      client,
      cluster,
      log: silentLogger,
      signal: new AbortController().signal,
    });
    keeper.tick();
    keeper.tick();
    await waitFor("the answer is taken over", () => {
      const [known] = cluster.rules.quotas("default");
      return known?.status.used["requests.app.example.com/cpuPCT"] === "20";
    });
    keeper.tick();
    assert.equal(bodies.length, 1);
    assert.equal(JSON.parse(bodies[0]!).metadata.uid, "uid-team");
  });
});

test("the answer to a quota's status brings back neither a quota that is gone nor an older one", async () => {
  const known: Record<string, string | undefined> = { gone: undefined, newer: "80" };
  for (const [what, expected] of Object.entries(known)) {
    const { cluster } = createTestCluster();
    let answered = 0;
    await withClient((_, response) => {
      const changed = quota("team", { cpuPCT: "80" });
      changed.metadata!.resourceVersion = "102";
      if (expected) cluster.applyQuota(changed);
      else cluster.removeQuota(changed);
      const old = quota("team", { cpuPCT: "50" });
      json(response, { ...old, metadata: { ...old.metadata, resourceVersion: "101" } });
    }, async (client) => {
      cluster.applyQuota(quota("team", { cpuPCT: "50" }));
      const counting: KubeClient = {
        ...client,
        request: <T>(request: KubeRequest) => client.request<T>(request).finally(() => answered++),
      };
      const { signal } = new AbortController();
      createQuotaKeeper({ client: counting, cluster, log: silentLogger, signal }).tick();
      await waitFor("it is answered", () => answered === 1);
      const found = cluster.rules.quotas("default").map(({ hard }) => hard.cpu);
      assert.deepEqual(found, expected ? [Number(expected) * 1000] : [], what);
    });
  }
});

test("a clock that is set back does not hold up a status that could not be written", async () => {
  using clock = takeMachineClock();
  let failed = false;
  await withApps({ web: {} }, async ({ writer, stored }) => {
    writer.write("default/web", { kind: "refused", message: "no room" });
    await waitFor("it failed once", () => failed);
    clock.setBack(3_600_000);
    await waitFor("it was written", () => stored("web")?.status?.message === "no room", 10_000);
    const [condition] = stored("web")?.status?.conditions ?? [];
    assert.ok(
      Math.abs(Date.parse(condition?.lastTransitionTime ?? "") - Date.now()) < 60_000,
      "the time of day",
    );
  }, ({ method }) => {
    if (method !== "PATCH" || failed) return undefined;
    failed = true;
    return 500;
  });
});
