/**
 * Binds and status patches a second on a real API server, each beside the raw merge patches that the same client reaches there with
 * as many requests at a time. Caveat: etcd, API server and client share this machine.
 */
import { performance } from "node:perf_hooks";
import type { NCApp } from "../../src/api/types.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath, ncapps } from "../../src/kube/resources.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { createStatusReporter } from "../../src/report/status/status.ts";
import { addNode } from "../../test/cluster/fake-nodes.ts";
import { watchMoves } from "../../test/cluster/watch-moves.ts";
import { createApp } from "../../test/harness/create-app.ts";
import { waitFor } from "../../test/wait-for.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { inParallel, withClusterScene } from "../cluster-scene.ts";
import { startScheduler } from "../running-scheduler.ts";
import { median } from "../statistics.ts";

const maxBindsInFlight = 16;
/** The concurrency of the status reporter. */
const maxReportsInFlight = 4;
const nodeCount = 20;
const apps = 300;

export const binds: Benchmark = {
  name: "binds",
  about:
    `${apps} apps bound by the scheduler, and ${apps} statuses reported, on a real API server; the limit is raw merge patches by ` +
    "the same client, in rounds by turns. Then two schedulers that do not know of each other, on the same apps.",
  needs: ["control-plane"],
  run: measure,
};

interface Scene {
  client: KubeClient;
  /** The times at which patches of NCApps or their statuses succeeded. */
  answers: number[];
  /** Patches that failed with a conflict. */
  conflicts(): number;
}

interface Kind {
  /** The node to which the apps are bound before the work. */
  nodeName?: string;
  work(scene: Scene, created: NCApp[]): Promise<void>;
}

async function measure({ long, say }: Context): Promise<Figure[]> {
  const rounds = long ? 9 : 3;
  return await withScene(async (scene) => {
    const nodeName = "node-0";
    const kinds: Record<string, Kind> = {
      "raw patches": { work: ({ client }, created) => patchAll(client, created, maxBindsInFlight) },
      binds: { work: scheduleAll },
      "raw status patches": {
        nodeName,
        work: ({ client }, created) => patchAll(client, created, maxReportsInFlight, "status"),
      },
      "status reports": { nodeName, work: reportAll },
    };
    const rates = new Map(Object.keys(kinds).map((name) => [name, [] as number[]]));
    for (let round = 1; round <= rounds; round++) {
      say(`round ${round} of ${rounds}`);
      // The order alternates, since the load of the machine changes.
      const turns = round % 2 ? Object.keys(kinds) : Object.keys(kinds).reverse();
      for (const name of turns) rates.get(name)!.push(await measureRate(scene, kinds[name]!));
    }
    const rate = (name: string) => median(rates.get(name)!);
    say("two schedulers");
    const rivals = await measureRivals(scene);
    return [
      row("scheduler, binds on a real API server", rate("binds"), rate("raw patches"), "raw patches"),
      row(
        "status reports on a real API server",
        rate("status reports"),
        rate("raw status patches"),
        "raw patches",
      ),
      {
        figure: "two schedulers without election: apps bound twice",
        ours: rivals.twice,
        unit: "",
        note: `${apps} apps, ${rivals.taken} binds taken, ${rivals.refused} refused by the server`,
      },
    ];
  });
}

function row(figure: string, ours: number, raw: number, what: string): Figure {
  return { figure, ours, unit: "/s", better: "higher", limit: { what, value: raw } };
}

/** Starts a control plane with nodes, and a client that counts its patches. */
async function withScene<T>(use: (scene: Scene) => Promise<T>): Promise<T> {
  return await withClusterScene(async ({ cluster }) => {
    const answers: number[] = [];
    let conflicts = 0;
    const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }), {
      maxInFlight: 2 * maxBindsInFlight + 8,
      onRequest({ verb, resource, code }) {
        if (verb !== "patch" || !resource.startsWith("ncapps")) return;
        if (code === 200) answers.push(performance.now());
        else conflicts++;
      },
    });
    const nodes = await Promise.all(
      Array.from({ length: nodeCount }, (_, at) => addNode(client, `node-${at}`)),
    );
    try {
      return await use({ client, answers, conflicts: () => conflicts });
    } finally {
      await Promise.all(nodes.map((node) => node.die()));
      client.close();
    }
  });
}

/** Creates apps, patches them with `work`, and returns the patches per second between the first answer and the last. */
async function measureRate(scene: Scene, { work, nodeName }: Kind): Promise<number> {
  const { client, answers } = scene;
  const created = await createApps(client, nodeName);
  answers.length = 0;
  await work(scene, created);
  const rate = (answers.length - 1) / (answers.at(-1)! - answers[0]!) * 1000;
  await removeApps(client);
  return rate;
}

async function patchAll(
  client: KubeClient,
  created: NCApp[],
  maxInFlight: number,
  subresource?: string,
): Promise<void> {
  await inParallel(created.length, maxInFlight, (at) => {
    const { name, uid, resourceVersion } = created[at]!.metadata;
    const change = subresource ? { status: statusOf(at) } : { spec: { nodeName: `node-${at % nodeCount}` } };
    const body = { metadata: { uid, ...(subresource ? {} : { resourceVersion }) }, ...change };
    return client.request({ method: "PATCH", path: ncappPath("default", name, subresource), body });
  });
}

async function scheduleAll({ client, answers }: Scene): Promise<void> {
  const scheduler = startScheduler(client, maxBindsInFlight, "bench");
  await waitFor("all are bound", () => answers.length >= apps, 120_000);
  await scheduler.stop();
}

async function reportAll({ client, answers }: Scene, created: NCApp[]): Promise<void> {
  const reporter = createStatusReporter({
    client,
    node: "node-0",
    log: silentLogger,
    reportPeriodMs: 10_000,
    maxInFlight: maxReportsInFlight,
  });
  created.forEach(({ metadata: { name, uid = "", resourceVersion } }, at) => {
    reporter.report({ namespace: "default", name, uid, resourceVersion }, statusOf(at), {});
  });
  await waitFor("all are reported", () => answers.length >= apps, 120_000);
  reporter.close();
}

/** Runs two schedulers without an election on the same apps; returns their conflicts, and whether an app was bound twice. */
async function measureRivals({ client, answers, conflicts }: Scene) {
  const { places, moved, stop } = await watchMoves(client);
  const refusedBefore = conflicts();
  answers.length = 0;
  const rivals = ["bench-1", "bench-2"].map((name) => startScheduler(client, maxBindsInFlight, name));
  await createApps(client);
  await waitFor("all are bound", () => places.size === apps, 120_000);
  await Promise.all(rivals.map((rival) => rival.stop()));
  await stop();
  return { taken: answers.length, refused: conflicts() - refusedBefore, twice: moved.length };
}

function createApps(client: KubeClient, nodeName?: string): Promise<NCApp[]> {
  return inParallel(
    apps,
    maxBindsInFlight,
    (at) =>
      createApp(client, `bench-${at}`, { shellFile: "/bin/true", cpuPCT: "0.5", memPCT: "0.5", nodeName }),
  );
}

async function removeApps(client: KubeClient): Promise<void> {
  await client.request({ method: "DELETE", path: ncappPath("default"), timeoutMs: 120_000 });
  // No agent reports that they have stopped.
  const { items } = await listAll<NCApp>(client, { resource: ncapps });
  await inParallel(items.length, maxBindsInFlight, (at) =>
    client.request({
      method: "PATCH",
      path: ncappPath("default", items[at]!.metadata.name),
      body: { metadata: { finalizers: null } },
    }).catch(() => {}));
}

function statusOf(at: number) {
  return { phase: "Running" as const, ready: true, pid: 1000 + at, restarts: 0 };
}
