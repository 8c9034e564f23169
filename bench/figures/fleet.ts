/**
 * The load of a fleet on one real API server: hollow agents, which sync, watch, renew and report as real ones do, with apps that have
 * no processes (test/hollow). The fleets are measured with the selectable field, the small one also without it: then all
 * agents watch all apps. In the large fleet each change would go to 500 agents, which is more than two CPUs can do.
 *
 * Caveats: agents, API server and etcd share this machine, so times include waits for its CPUs; CPU time does not. What did not arrive
 * in time is counted.
 */
import { setTimeout as pause } from "node:timers/promises";
import { agentGroup, agentUser } from "../../src/api/names.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import type { Cluster } from "../../test/harness/cluster.ts";
import { withControlPlane } from "../../test/harness/control-plane.ts";
import { installCRD } from "../../test/harness/install-crd.ts";
import { setSelectableFields } from "../../test/harness/selectable-fields.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { createApp, inParallel } from "../cluster-scene.ts";
import { changeApps, type Changes } from "../fleet/changes.ts";
import { countsSince, type Fleet, type RequestCounts, startFleet, sumOf } from "../fleet/fleet.ts";
import { readCost } from "../process-cost.ts";
import { percentile } from "../statistics.ts";

const sizes = [100, 500];
const appsPerNode = 20;
const changesPerSecond = 50;
/** How long a status may take after the last change, and a fleet until it is quiet. */
const patienceMs = 10_000;
const settleMs = 300_000;
/** Longer than the period of reports: the first usage of an app is reported that long after its start. */
const quietMs = 12_000;
/** Requests per agent and second of a quiet fleet: watches end after some minutes, and are opened again. */
const quietRate = 1 / 30;

export const fleet: Benchmark = {
  name: "fleet",
  about:
    `Fleets of ${sizes.join(" and ")} hollow agents, ${appsPerNode} apps each, on one real API server: ` +
    `idle, and with ${changesPerSecond} changes a second that restart an app. The peer is the small fleet without the selectable ` +
    "field in the CRD. CPU in percent of one core.",
  needs: ["control-plane"],
  run: measure,
};

interface Load {
  seconds: number;
  requests: RequestCounts;
  /** CPU seconds. */
  apiServer: number;
  etcd: number;
}

interface Measured {
  idle: Load;
  busy: Load & Changes;
  /** Whether the fleet was quiet before the measurement. */
  isQuiet: boolean;
}

async function measure({ long, say }: Context): Promise<Figure[]> {
  const seconds = long ? 60 : 20;
  const nodes = Array.from({ length: Math.max(...sizes) }, (_, at) => `hollow-${at}`);
  const users = nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }));
  return await withControlPlane(async (cluster) => {
    if (!cluster.has("selectable-fields")) throw new Error("this API server has no selectable fields");
    await installCRD(cluster);
    const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }), { places: 40 });
    const kubeconfigs = await Promise.all(
      nodes.map(async (
        node,
      ): Promise<[string, string]> => [node, await cluster.kubeconfigFor(agentUser(node))]),
    );
    const measured = new Map<string, Measured | string>();
    const keep = async (size: number, isSelected: boolean, agents: Fleet) => {
      const scene = { cluster, client, agents, size, seconds, isSelected, say };
      measured.set(
        keyOf(size, isSelected),
        await measureFleet(scene).catch(({ message }) => String(message)),
      );
    };
    /** Runs a fleet during `use`. */
    const withFleet = async (size: number, use: (agents: Fleet) => Promise<void>) => {
      const agents = await startFleet(kubeconfigs.slice(0, size), Math.ceil(size / 125));
      try {
        await use(agents);
      } finally {
        await agents.stop();
      }
    };
    const [small = 0, large = 0] = sizes;
    try {
      await setSelectableFields(cluster, true);
      say(`creating ${small * appsPerNode} apps`);
      await createApps(client, nodes.slice(0, small));
      await withFleet(small, async (agents) => {
        await keep(small, true, agents);
        // The server ends the watches, and the agents find that they cannot select any more.
        await setSelectableFields(cluster, false);
        await keep(small, false, agents);
      });
      await setSelectableFields(cluster, true);
      say(`creating ${(large - small) * appsPerNode} apps`);
      await createApps(client, nodes.slice(small));
      await withFleet(large, (agents) => keep(large, true, agents));
    } finally {
      client.close();
    }
    return [...sizes.flatMap((size) => describe(size, measured)), growth(measured)];
  }, { users });
}

const keyOf = (size: number, isSelected: boolean) =>
  `${size} agents ${isSelected ? "with" : "without"} the selector`;

async function createApps(client: KubeClient, nodes: string[]): Promise<void> {
  await inParallel(nodes.length * appsPerNode, 16, (at) => {
    const nodeName = nodes[at % nodes.length]!;
    const name = appName(nodeName, Math.floor(at / nodes.length));
    return createApp(client, name, { shellFile: "/bin/true", nodeName, terminationGracePeriodSeconds: 1 });
  });
}

const appName = (node: string, at: number) => `${node}-app-${at}`;

interface Scene {
  cluster: Cluster;
  client: KubeClient;
  agents: Fleet;
  size: number;
  seconds: number;
  isSelected: boolean;
  say: (text: string) => void;
}

/** Measures a fleet once it is quiet. */
async function measureFleet(scene: Scene): Promise<Measured> {
  const { client, size, seconds, isSelected, say } = scene;
  const how = keyOf(size, isSelected);
  const startedAt = Date.now();
  const isQuiet = await becomesQuiet(scene);
  const settled = `${isQuiet ? "quiet" : "not quiet"} after ${
    ((Date.now() - startedAt) / 1000).toFixed(0)
  } s`;
  say(`${how}: ${settled}; idle for ${seconds} s`);
  const [idle] = await load(scene, () => pause(seconds * 1000));
  say(`${how}: ${changesPerSecond} changes a second for ${seconds} s`);
  // Spread over the nodes; no app twice, and other apps each time.
  const first = isSelected ? 0 : appsPerNode / 2;
  const names = Array.from({ length: changesPerSecond * seconds }, (_, at) => {
    const app = first + Math.floor(at / size) % (appsPerNode / 2);
    return appName(`hollow-${at % size}`, app);
  });
  const [busy, changes] = await load(
    scene,
    () => changeApps(client, { names, perSecond: changesPerSecond, patienceMs }),
  );
  const [requests, cpu] = [sumOf(idle.requests) / idle.seconds, idle.apiServer / idle.seconds * 100];
  say(`${how}: idle ${requests.toFixed(1)} requests/s, API server ${cpu.toFixed(0)}% of a core`);
  return { idle, busy: { ...changes, ...busy }, isQuiet };
}

/** Waits until the agents send little but heartbeats for `quietMs`; false if that takes too long. */
async function becomesQuiet({ agents, size }: Scene): Promise<boolean> {
  const isOther = (kind: string) => !/ (leases|nodes)$/.test(kind);
  const countOthers = async () =>
    sumOf(Object.fromEntries(Object.entries(await agents.requests()).filter(([kind]) => isOther(kind))));
  const most = size * quietRate * quietMs / 1000;
  for (const end = Date.now() + settleMs; Date.now() < end;) {
    const before = await countOthers();
    await pause(quietMs);
    if (await countOthers() - before <= most) return true;
  }
  return false;
}

async function load<T>({ cluster, agents }: Scene, work: () => Promise<T>): Promise<[Load, T]> {
  const cpu = ({ pid = 0 }: { pid?: number }) => readCost(pid).cpuSeconds;
  const read = async () => ({
    at: Date.now(),
    requests: await agents.requests(),
    apiServer: cpu(cluster.apiServer),
    etcd: cpu(cluster.etcd),
  });
  const before = await read();
  const result = await work();
  const after = await read();
  return [{
    seconds: (after.at - before.at) / 1000,
    requests: countsSince(before.requests, after.requests),
    apiServer: after.apiServer - before.apiServer,
    etcd: after.etcd - before.etcd,
  }, result];
}

function describe(size: number, measured: Map<string, Measured | string>): Figure[] {
  const [selected, whole] = [measured.get(keyOf(size, true)), measured.get(keyOf(size, false))];
  const row = (
    figure: string,
    unit: string,
    pick: (measured: Measured) => number,
    notes: string[] = [],
  ): Figure => ({
    figure: `${size} agents, ${figure}`,
    ...(typeof selected === "object" && { ours: pick(selected) }),
    unit,
    ...(typeof whole === "object" && { peer: { what: "without the selector", value: pick(whole) } }),
    ...(notes.length > 0 && { note: notes.join("; ") }),
  });
  const perHundred = (cpuSeconds: number, seconds: number) => cpuSeconds / seconds * 100 / (size / 100);
  const time = (share: number) => ({ busy: { times } }: Measured) =>
    times.length > 0 ? percentile(times, share) : Infinity;
  return [
    row("idle: requests", "requests/s", ({ idle }) => sumOf(idle.requests) / idle.seconds, [
      ...typeof selected === "object" ? [`per agent and minute: ${perMinute(selected.idle, size)}`] : [],
      ...[selected, whole].filter((one) => typeof one === "string").map((why) => `not measured: ${why}`),
    ]),
    row(
      "idle: CPU of the API server per 100 nodes",
      "%",
      ({ idle }) => perHundred(idle.apiServer, idle.seconds),
    ),
    row("idle: CPU of etcd per 100 nodes", "%", ({ idle }) => perHundred(idle.etcd, idle.seconds)),
    row("changes: requests", "requests/s", ({ busy }) => sumOf(busy.requests) / busy.seconds, [
      "of the agents, without the changes themselves",
    ]),
    row(
      "changes: CPU of the API server per 100 nodes",
      "%",
      ({ busy }) => perHundred(busy.apiServer, busy.seconds),
    ),
    row("changes: CPU of etcd per 100 nodes", "%", ({ busy }) => perHundred(busy.etcd, busy.seconds)),
    row("apply → status Running, p50", "ms", time(0.5), [
      ...typeof selected === "object" ? [describeChanges("with", selected)] : [],
      ...typeof whole === "object" ? [describeChanges("without", whole)] : [],
    ]),
    row("apply → status Running, p99", "ms", time(0.99)),
  ];
}

function perMinute({ requests, seconds }: Load, size: number): string {
  return Object.entries(requests).map(([kind, made]) => `${(made / size / seconds * 60).toFixed(1)} ${kind}`)
    .join(", ");
}

function describeChanges(how: string, { busy: { times, missing }, isQuiet }: Measured): string {
  const late = `${missing} of ${times.length + missing} statuses not seen within ${patienceMs / 1000} s`;
  return `${how} the selector, ${late}${
    isQuiet ? "" : `, and the fleet was not quiet after ${settleMs / 1000} s`
  }`;
}

/** How the cost of one agent grows with the fleet: 1 is linear growth of the whole. */
function growth(measured: Map<string, Measured | string>): Figure {
  const [small, large] = sizes.map((size) => {
    const found = measured.get(keyOf(size, true));
    return typeof found === "object" ? found.idle.apiServer / found.idle.seconds / size : NaN;
  });
  return {
    figure: `idle: CPU of the API server per agent, growth from ${sizes[0]} to ${sizes.at(-1)} agents`,
    ...(small && large ? { ours: large / small } : {}),
    unit: "times",
    note: "includes what the API server does without any agent, which weighs less in a large fleet",
  };
}
