/**
 * The load of a fleet on one real API server: hollow agents, which sync, watch, renew and report as real ones do, with apps that have
 * no processes (test/hollow). Each fleet has a server of its own, which serves lists from its cache, as those of current clusters do.
 * The small fleet is also measured without the selectable field: then all agents watch all apps. In the large fleet each change would go to 500 agents, which is more than two CPUs can do.
 *
 * Caveats: agents, API server and etcd share this machine, so times include waits for its CPUs; CPU time hardly does. A rate of changes
 * that the machine does not sustain has no percentiles, since they would depend on how long it was tried. The usage of hollow apps
 * never changes, so an idle fleet reports none; of real apps it is at most 12 reports per app and hour (`requests`).
 */
import { setTimeout as pause } from "node:timers/promises";
import { agentGroup, agentUser } from "../../src/api/names.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { withControlPlane } from "../../test/harness/control-plane.ts";
import { createApp } from "../../test/harness/create-app.ts";
import { installCRD } from "../../test/harness/install-crd.ts";
import { setSelectableFields } from "../../test/harness/selectable-fields.ts";
import { waitFor } from "../../test/wait-for.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { inParallel } from "../cluster-scene.ts";
import { type Changes, followApps } from "../fleet/changes.ts";
import { createFleet, type Credentials } from "../fleet/fleet.ts";
import { becomesQuiet, type Load, measureLoad, type Observed, windowMs } from "../fleet/load.ts";
import { aboutApps, countsSince, type RequestCounts, sumOf } from "../fleet/requests.ts";
import { describeFleets, isSustained, type Measured } from "../fleet/table.ts";

const small = { agents: 100, rates: [50] };
/** Higher rates are tried until the machine does not sustain one. */
const large = { agents: 500, rates: [10, 25, 50] };
const appsPerNode = 20;
/** Agents that start together. Many more would overload the server, so that it wastes its time with requests that time out. */
const wave = 25;
const startMs = 600_000;
/** How long the last statuses may take, and a fleet until it is quiet. */
const patienceMs = 10_000;
const quietMs = 240_000;

export const fleet: Benchmark = {
  name: "fleet",
  about:
    `Fleets of ${small.agents} and ${large.agents} hollow agents, ${appsPerNode} apps each, each fleet on a real API server of its own, ` +
    "which serves lists from its cache: " +
    "idle, and with changes that restart an app. The peer is the same fleet without the selectable field in the CRD; the limit is " +
    "the same server with the same apps, and without agents. CPU in percent of one core.",
  needs: ["control-plane"],
  async run(context) {
    const measured: Measured[] = [];
    const failed: Figure[] = [];
    for (const size of [small, large]) {
      await measureFleet(size, context, (one) => measured.push(one)).catch(({ message }: Error) =>
        failed.push({
          figure: `${size.agents} agents`,
          unit: "",
          note: `the measurement ended early: ${message}`,
        })
      );
    }
    return [...describeFleets(measured, { patienceMs }), ...failed];
  },
};

interface Scene extends Observed {
  client: KubeClient;
  size: { agents: number; rates: number[] };
  nodes: string[];
  seconds: number;
  say: (text: string) => void;
  /** The apps that were changed so far: no app is changed twice. */
  changed: number;
}

/** Measures a fleet with the selectable field, and the small one without it. */
async function measureFleet(
  size: Scene["size"],
  { long, say }: Context,
  keep: (measured: Measured) => void,
): Promise<void> {
  const nodes = Array.from({ length: size.agents }, (_, at) => `hollow-${at}`);
  const users = nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }));
  await withControlPlane(async (cluster) => {
    if (!cluster.has("selectable-fields")) throw new Error("this API server has no selectable fields");
    await installCRD(cluster);
    // More requests than changes can queue up: they must not wait here.
    const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }), {
      maxInFlight: 500,
    });
    const credentials = await Promise.all(
      nodes.map(async (node): Promise<Credentials> => [node, await cluster.kubeconfigFor(agentUser(node))]),
    );
    const fleet = createFleet(Math.ceil(size.agents / 125));
    const scene = { cluster, fleet, client, size, nodes, seconds: long ? 60 : 30, say, changed: 0 };
    try {
      await setSelectableFields(cluster, true);
      say(`${size.agents} agents: creating ${size.agents * appsPerNode} apps`);
      await createApps(client, nodes);
      await becomesQuiet(scene, { agents: 0, patienceMs: quietMs / 4 });
      const [without] = await measureLoad(scene, () => pause(windowMs));
      const beforeStart = await fleet.requests();
      await startInWaves(scene, credentials);
      keep(await measure(scene, { isSelected: true, without, beforeStart }));
      if (size !== small) return;
      // The server ends the watches, and the agents find that they cannot select any more.
      await setSelectableFields(cluster, false);
      keep(await measure(scene, { isSelected: false, without }));
    } finally {
      await fleet.stop();
      client.close();
    }
  }, { users });
}

async function createApps(client: KubeClient, nodes: string[]): Promise<void> {
  await inParallel(nodes.length * appsPerNode, 16, (at) => {
    const nodeName = nodes[at % nodes.length]!;
    const spec = { shellFile: "/bin/true", nodeName, terminationGracePeriodSeconds: 1 };
    return createApp(client, appName(nodes, at), spec);
  });
}

/** The names of apps, so that the first ones are on different nodes. */
function appName(nodes: string[], at: number): string {
  return `${nodes[at % nodes.length]}-app-${Math.floor(at / nodes.length) % appsPerNode}`;
}

/** Starts the agents in waves; the next one starts when the apps of the last one are reported. */
async function startInWaves({ fleet, say }: Scene, credentials: Credentials[]): Promise<void> {
  const startedAt = Date.now();
  for (let at = 0; at < credentials.length; at += wave) {
    const agents = credentials.slice(at, at + wave);
    await fleet.start(agents);
    const apps = (at + agents.length) * appsPerNode;
    // The last report of a start is that of its Pod.
    const isReported = async () => ((await fleet.requests())["patch pods/status"] ?? 0) >= apps;
    await waitFor(`${apps} apps are reported`, isReported, startedAt + startMs - Date.now());
  }
  say(`${credentials.length} agents: all apps run after ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
}

/** Measures a fleet once it is quiet. */
async function measure(
  scene: Scene,
  { isSelected, without, beforeStart }: { isSelected: boolean; without: Load; beforeStart?: RequestCounts },
): Promise<Measured> {
  const { fleet, size, seconds, say } = scene;
  const how = `${size.agents} agents ${isSelected ? "with" : "without"} the selector`;
  const settled = await becomesQuiet(scene, { agents: size.agents, patienceMs: quietMs });
  say(`${how}: ${settled.quiet ? "quiet" : "not quiet"} after ${settled.seconds.toFixed(0)} s`);
  const starts = beforeStart && aboutApps(countsSince(beforeStart, await fleet.requests()));
  await using changer = await followApps(scene.client);
  const [idle] = await measureLoad(scene, () => pause(seconds * 1000));
  const [requests, cpu] = [sumOf(idle.requests) / idle.seconds, idle.apiServer / idle.seconds * 100];
  say(`${how}: idle ${requests.toFixed(1)} requests/s, API server ${cpu.toFixed(0)}% of a core`);
  const busy: Measured["busy"] = [];
  for (const perSecond of size.rates) {
    const names = Array.from({ length: perSecond * 20 }, () => appName(scene.nodes, scene.changed++));
    const before = await fleet.requests();
    const [load, changes] = await measureLoad(
      scene,
      () => changer.change({ names, perSecond, patienceMs }),
    );
    // The usage of the new runs is reported later.
    await pause(windowMs);
    const writes = aboutApps(countsSince(before, await fleet.requests()));
    busy.push({ perSecond, load, changes, writes });
    say(`${how}: ${describeProgress(perSecond, changes)}`);
    if (!isSustained(changes)) break;
  }
  return {
    agents: size.agents,
    apps: size.agents * appsPerNode,
    isSelected,
    settled,
    without,
    starts,
    idle,
    busy,
  };
}

function describeProgress(perSecond: number, { count, times, backlog, refused }: Changes): string {
  return `${perSecond} changes/s: ${times.length} of ${count} arrived, ${backlog} not within a second, ${refused} refused`;
}
