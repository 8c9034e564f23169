/**
 * A set with one app on each node of the storm, in a namespace of its own, so that the invariants of other apps do not see it. Its
 * rollouts are judged by a watch of the API server, which no fault reaches but those of the server itself.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { apiVersion, setKind } from "../../../src/api/names.ts";
import type { NCApp, NCAppSet } from "../../../src/api/types.ts";
import { loadAccess } from "../../../src/kube/access/access.ts";
import { createKubeClient } from "../../../src/kube/client/client.ts";
import { namespaces, ncapps, ncappsets, resourcePath } from "../../../src/kube/resources.ts";
import { followList } from "../../../src/kube/watch/watch.ts";
import type { Cluster, RequestOptions } from "../../harness/cluster.ts";
import type { FleetEvidence, FleetProcess } from "./evidence.ts";
import { createRolloutBudget } from "./rollout-budget.ts";

const namespace = "fleet";
const name = "member";
const maxUnavailable = 1;
/** Before a silent node may count as lost, 40 s after its last renewal. */
const forgetMs = 30_000;
const patienceMs = 150_000;
const shellFile = join(fileURLToPath(new URL("./apps", import.meta.url)), "member.sh");
const setPath = resourcePath(ncappsets, { namespace, name });

export interface Fleet extends AsyncDisposable {
  /** Changes the template to this version; resolves when the server has accepted it. */
  roll(version: string): Promise<void>;
  /** What the watch found since the last call. */
  takeViolations(): string[];
  /** Undefined while the API server does not answer. */
  evidence(): Promise<FleetEvidence | undefined>;
  live(): Promise<FleetProcess[]>;
  /** Deletes the set and its apps: there is no garbage collector. */
  remove(): Promise<void>;
}

export async function startFleet(
  cluster: Cluster,
  stormId: string,
  nodes: readonly string[],
): Promise<Fleet> {
  const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }));
  const stopping = new AbortController();
  const budget = createRolloutBudget({ maxUnavailable, forgetMs });
  let violations: string[] = [];
  let version = "1";

  const until = async (what: string, path: string, request: RequestOptions) => {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      // Fails while a fault keeps the server down, as expected.
      const { status, body } = await cluster.request(path, request).catch(() => ({ status: 0, body: "" }));
      if ([200, 201, 409].includes(status)) return;
      if (status === 422 || Date.now() > deadline) throw new Error(`cannot ${what}: ${status} ${body}`);
      await pause(250);
    }
  };
  const env = (version: string) => {
    const variables = { STORM_FLEET: stormId, STORM_PID: String(process.pid), FLEET_VERSION: version };
    return Object.entries(variables).map(([name, value]) => ({ name, value }));
  };
  const follow = async () => {
    for await (const event of followList<NCApp>(client, { resource: ncapps, namespace }, stopping.signal)) {
      if (event.type === "listed") budget.listed(event.items);
      else if (event.type === "applied") violations.push(...budget.applied(event.object, performance.now()));
      else if (event.type === "deleted") budget.deleted(event.object);
    }
  };

  const home = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await until("create the namespace", resourcePath(namespaces), { method: "POST", body: home });
  const set = fleetSet(env(version), nodes);
  await until("create the set", resourcePath(ncappsets, { namespace }), { method: "POST", body: set });
  const following = follow();
  const live = () => findFleet(stormId);

  return {
    async roll(next) {
      version = next;
      const body = { spec: { template: { spec: { env: env(next) } } } };
      const contentType = "application/merge-patch+json";
      await until("roll the set", setPath, { method: "PATCH", body, contentType });
    },
    takeViolations() {
      const found = violations;
      violations = [];
      return found;
    },
    async evidence() {
      const { status, body } = await cluster.request(setPath, { timeoutMs: 5000 }).catch(() => ({
        status: 0,
        body: "",
      }));
      if (status !== 200) return undefined;
      return { set: JSON.parse(body) as NCAppSet, version, nodes, live: await live() };
    },
    live,
    async remove() {
      await cluster.request(setPath, { method: "DELETE" }).catch(() => {});
      await cluster.request(resourcePath(ncapps, { namespace }), { method: "DELETE" }).catch(() => {});
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await following;
      client.close();
    },
  };
}

function fleetSet(env: object[], nodes: readonly string[]): object {
  const labels = { app: name };
  // Not on a node that an agent registers under another name.
  const nodeSelectorTerms = nodes.map((node) => ({
    matchFields: [{ key: "metadata.name", operator: "In", values: [node] }],
  }));
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
  const spec = {
    shellFile,
    env,
    affinity,
    terminationGracePeriodSeconds: 3,
    backoffSeconds: 1,
    maxBackoffSeconds: 4,
  };
  return {
    apiVersion,
    kind: setKind,
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...spec, tolerations: [{ operator: "Exists" }] } },
      // Faults make apps fail: here they must not stop a rollout.
      // Three apps in turn have to be available within the time that the storm waits; the default is 10 s each.
      minReadySeconds: 1,
      update: { maxUnavailable, maxFailed: 1000 },
    },
  };
}

/** Finds the living processes of the fleet by their environment, independently of any agent. */
async function findFleet(stormId: string): Promise<FleetProcess[]> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => {
    const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!text.includes(`STORM_FLEET=${stormId}\0`)) return undefined;
    const value = (variable: string) => new RegExp(`(?:^|\0)${variable}=([^\0]*)`).exec(text)?.[1] ?? "";
    return { pid, name: value("NCAPP_NAME"), run: value("NCAPP_RUN"), version: value("FLEET_VERSION") };
  }));
  return found.filter((process) => process !== undefined);
}
