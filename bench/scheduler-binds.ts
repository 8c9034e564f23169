/** Binds a second on a real API server, beside the merge patches a second that the same client reaches there. */
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { NCApp } from "../src/api/types.ts";
import { loadAccess } from "../src/kube/access.ts";
import { createKubeClient, type KubeClient } from "../src/kube/client.ts";
import { ncappPath } from "../src/kube/resources.ts";
import { silentLogger } from "../src/lib/log.ts";
import { runScheduler } from "../src/scheduler/run-scheduler.ts";
import { addNode } from "../test/cluster/fake-nodes.ts";
import { watchMoves } from "../test/cluster/watch-moves.ts";
import { withControlPlane } from "../test/harness/control-plane.ts";
import { checkout } from "../test/harness/parts.ts";
import { waitFor } from "../test/wait-for.ts";

const places = 16;
const nodeCount = 20;

/** Rounds of raw patches and of scheduling, in turn, so that both see the same machine. */
export async function benchmarkBinds({ apps, rounds }: { apps: number; rounds: number }): Promise<void> {
  await withScene(async ({ client, answers }) => {
    const raw = () => measure(client, answers, apps, (created) => patchAll(client, created));
    const bound = () => measure(client, answers, apps, () => scheduleAll(client, answers, apps));
    const rates: { raw: number[]; bound: number[] } = { raw: [], bound: [] };
    for (let round = 1; round <= rounds; round++) {
      // Which goes first changes, since what runs beside it on the machine does too.
      const turns = round % 2 ? ["raw", "bound"] as const : ["bound", "raw"] as const;
      for (const turn of turns) rates[turn].push(await (turn === "raw" ? raw() : bound()));
      const [patches, binds] = [rates.raw.at(-1)!, rates.bound.at(-1)!];
      console.log(`round ${round}: ${patches.toFixed(0)} raw patches/s, ${binds.toFixed(0)} binds/s`);
    }
    const share = median(rates.bound) / median(rates.raw);
    console.log(
      `median of ${rounds} rounds: ${median(rates.raw).toFixed(0)} raw patches/s, ` +
        `${median(rates.bound).toFixed(0)} binds/s, ${Math.round(share * 100)}% of the raw rate`,
    );
  });
}

interface Scene {
  client: KubeClient;
  /** When each bind was answered with success. */
  answers: number[];
  /** Binds that were refused because another was quicker. */
  conflicts(): number;
}

/** A control plane with nodes, and a client that counts its binds. */
async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  await withControlPlane(async (cluster) => {
    for (const file of ["ncapp.yaml", "rbac.yaml"]) {
      await cluster.kubectl(["apply", "-f", join(checkout, "crd", file)]);
    }
    await cluster.kubectl([
      "wait",
      "--for=condition=established",
      "--timeout=30s",
      "crd/ncapps.app.example.com",
    ]);
    const answers: number[] = [];
    let conflicts = 0;
    const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }), {
      places: 2 * places + 8,
      onRequest({ verb, resource, code }) {
        if (verb !== "patch" || resource !== "ncapps") return;
        if (code === 200) answers.push(performance.now());
        else conflicts++;
      },
    });
    const nodes = await Promise.all(
      Array.from({ length: nodeCount }, (_, at) => addNode(client, `node-${at}`)),
    );
    try {
      await use({ client, answers, conflicts: () => conflicts });
    } finally {
      await Promise.all(nodes.map((node) => node.die()));
      client.close();
    }
  });
}

/** Two schedulers that do not know of each other, on the same apps: how often they met, and that none was bound twice. */
export async function benchmarkRivals({ apps }: { apps: number }): Promise<void> {
  await withScene(async ({ client, answers, conflicts }) => {
    const { places, moved, stop } = await watchMoves(client);
    const startedAt = performance.now();
    const rivals = [1, 2].map((seed) => startScheduler(client, seed));
    await createApps(client, apps);
    await waitFor("all are bound", () => places.size === apps, 120_000);
    const ms = performance.now() - startedAt;
    await Promise.all(rivals.map((rival) => rival.stop()));
    await stop();
    console.log(
      `two schedulers without election, ${apps} apps: all bound in ${
        (ms / 1000).toFixed(1)
      } s, ${answers.length} binds taken, ` +
        `${conflicts()} refused, ${moved.length} apps bound twice`,
    );
  });
}

/** Creates apps, has them bound by `work`, and tells how many were bound a second between the first answer and the last. */
async function measure(
  client: KubeClient,
  answers: number[],
  count: number,
  work: (created: NCApp[]) => Promise<void>,
): Promise<number> {
  const created = await createApps(client, count);
  answers.length = 0;
  await work(created);
  const rate = (answers.length - 1) / (answers.at(-1)! - answers[0]!) * 1000;
  await client.request({ method: "DELETE", path: ncappPath("default"), timeoutMs: 120_000 });
  return rate;
}

async function patchAll(client: KubeClient, apps: NCApp[]): Promise<void> {
  await inParallel(apps.length, (at) => {
    const { name, uid, resourceVersion } = apps[at]!.metadata;
    const body = { metadata: { uid, resourceVersion }, spec: { nodeName: `node-${at % nodeCount}` } };
    return client.request({ method: "PATCH", path: ncappPath("default", name), body });
  });
}

async function scheduleAll(client: KubeClient, answers: number[], count: number): Promise<void> {
  const scheduler = startScheduler(client, 1);
  await waitFor("all are bound", () => answers.length >= count, 120_000);
  await scheduler.stop();
}

function startScheduler(client: KubeClient, seed: number): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = runScheduler({
    client,
    log: silentLogger,
    version: "bench",
    identity: `bench-${seed}`,
    schedulerName: "nc-scheduler",
    policy: "spread",
    leaderElect: false,
    bindPlaces: places,
    seed,
  }, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

function createApps(client: KubeClient, count: number): Promise<NCApp[]> {
  return inParallel(count, (at) =>
    client.request<NCApp>({
      method: "POST",
      path: ncappPath("default"),
      body: {
        apiVersion: "app.example.com/v1alpha1",
        kind: "NCApp",
        metadata: { name: `bench-${at}` },
        spec: { shellFile: "/bin/true", cpuPCT: "0.5", memPCT: "0.5" },
      },
    }));
}

async function inParallel<T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: places }, async () => {
    while (next < count) {
      const at = next++;
      results[at] = await work(at);
    }
  }));
  return results;
}

function median(values: number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1]!;
}
