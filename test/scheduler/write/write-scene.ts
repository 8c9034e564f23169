/** The scheduler's writers with a fake API server, for tests. */
import type { NCApp, NCAppSpec } from "../../../src/api/types.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { ncappPath } from "../../../src/kube/resources.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import type { EventNews } from "../../../src/report/events/events.ts";
import {
  createAppWrites,
  createBinder,
  createEvictor,
  createStatusWriter,
} from "../../../src/scheduler/write/write.ts";
import { createSchedulerMetrics } from "../../../src/scheduler/metrics.ts";
import { type Asked, FakeApi } from "../../kube/fake-api.ts";
import { withClient } from "../../kube/fake-server.ts";
import { ncapp } from "../sample-cluster.ts";
import { createTestCluster } from "../test-cluster.ts";

/** Runs `use` with the scheduler's writers and a fake API server that has these apps. */
export async function withApps(
  specs: Record<string, NCAppSpec>,
  use: (scene: Scene) => Promise<void>,
  intercept: (request: Asked, api: FakeApi) => unknown = () => undefined,
): Promise<void> {
  const api = new FakeApi();
  const scene = createTestCluster(["a", "b"]);
  for (const [name, spec] of Object.entries(specs)) api.put(pathOf(name), ncapp(name, spec));
  scene.cluster.replaceApps([...api.objects.values()].map((app) => structuredClone(app)), "1000");
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

export const pathOf = (name: string) => ncappPath("default", name);

export type Scene = ReturnType<typeof createScene>;

function createScene(
  client: KubeClient,
  scene: ReturnType<typeof createTestCluster>,
  api: FakeApi,
  signal: AbortSignal,
) {
  const { cluster } = scene;
  const told: string[] = [];
  const eventTimes: (number | undefined)[] = [];
  const recorder = {
    record: ({ name }: { name: string }, { reason, at }: EventNews) => {
      told.push(`${name} ${reason}`);
      eventTimes.push(at);
    },
    flush: async () => {},
    close() {},
  };
  const log = silentLogger;
  const writes = createAppWrites(client, cluster, signal);
  const writer = createStatusWriter({ writes, log, signal, lookup: (key) => cluster.apps.get(key) });
  const permission = { mayWrite: true };
  const unbound: string[] = [];
  const parts = {
    client,
    writes,
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
    deferredEvents: { add: (work) => work(), flush() {} },
    now: () => scene.clock.now,
    onUnbound: (key) => unbound.push(key),
  });
  const evictedByTaints: string[] = [];
  const releasedPods: string[] = [];
  const evictor = createEvictor({
    ...parts,
    onNodeEviction: (key) => evictedByTaints.push(key),
    releasePod: ({ key, nodeName }) => releasedPods.push(`${key} on ${nodeName}`),
  });
  const stored = (name: string): NCApp | undefined => api.get(pathOf(name));
  return {
    ...scene,
    ...parts,
    api,
    stored,
    requests: api.asked,
    told,
    eventTimes,
    unbound,
    permission,
    binder,
    evictor,
    evictedByTaints,
    releasedPods,
  };
}

export const calls = (requests: Asked[]) =>
  requests.map(({ method, path }) => `${method} ${path.split("/ncapps/")[1]}`);
