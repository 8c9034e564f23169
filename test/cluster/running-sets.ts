/** The sets controller on a real API server: with the rights of crd/rbac.yaml, and as the leader or by election. */
import { randomUUID } from "node:crypto";
import { systemNamespace } from "../../src/api/names.ts";
import type { NCApp, NCAppSet } from "../../src/api/types.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient, type KubeRequest } from "../../src/kube/client/client.ts";
import { lead } from "../../src/kube/leader.ts";
import { ncapps, ncappsets, resourcePath } from "../../src/kube/resources.ts";
import { followList, listAll } from "../../src/kube/watch/watch.ts";
import { createHub } from "../../src/kube/follower.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { createSetsController } from "../../src/sets/sets.ts";
import { setSpecWith, setWith } from "../api/set-samples.ts";

export interface RunningSets extends AsyncDisposable {
  metrics(): Promise<string>;
  /** Ends it as SIGKILL would: nothing more is written, nothing is given back. */
  kill(): Promise<void>;
}

export interface SetsOptions {
  kubeconfig: string;
  /** Takes part in an election with these short times; otherwise it leads at once. */
  elect?: boolean;
  /** Called after each write; what it throws ends the controller. */
  onWrite?: (request: KubeRequest) => void;
}

export async function startSets({ kubeconfig, elect = false, onWrite }: SetsOptions): Promise<RunningSets> {
  const client = createKubeClient(await loadAccess({ kubeconfig }), { maxInFlight: 24 });
  const ending = new AbortController();
  const { signal } = ending;
  const identity = randomUUID();
  let dead = false;
  const watched: KubeClient = {
    ...client,
    async request<T>(request: KubeRequest) {
      const isWrite = request.method !== undefined && request.method !== "GET";
      if (dead && isWrite) throw new Error("killed");
      const answer = await client.request<T>(request);
      if (isWrite) onWrite?.(request);
      return answer;
    },
  };
  const controller = createSetsController({
    client: watched,
    hub: createHub(watched, silentLogger),
    log: silentLogger,
    identity,
    settleMs: 20,
  });
  const election = { namespace: systemNamespace, name: "sets-test", identity, log: silentLogger };
  const times = { leaseSeconds: 4, renewDeadlineMs: 2500, retryMs: 500 };
  const running = Promise.allSettled([
    controller.follow(signal),
    elect
      ? lead(watched, { ...election, ...times }, (leadership) => controller.lead(leadership), signal)
      : controller.lead({ signal, isLeader: () => !signal.aborted }),
  ]);
  const stop = async () => {
    ending.abort();
    await running;
    client.close();
  };
  return {
    metrics: () => controller.metrics(),
    kill() {
      dead = true;
      return stop();
    },
    [Symbol.asyncDispose]: stop,
  };
}

const namespace = "default";

/** Creates sets and reads what became of them. */
export class SetsUser {
  readonly client: KubeClient;

  constructor(client: KubeClient) {
    this.client = client;
  }

  async create(
    name: string,
    spec: { [field: string]: unknown } = {},
    app: { [field: string]: unknown } = {},
  ): Promise<void> {
    const labels = { app: name };
    const body = setWith(
      setSpecWith({ selector: { matchLabels: labels }, minReadySeconds: 0, ...spec }, app, labels),
      { name },
    );
    await this.client.request({ method: "POST", path: resourcePath(ncappsets, { namespace }), body });
  }

  async patch(name: string, spec: object, metadata: object = {}): Promise<void> {
    const path = resourcePath(ncappsets, { namespace, name });
    await this.client.request({ method: "PATCH", path, body: { metadata, spec } });
  }

  /** Changes the spec of the template. */
  async change(name: string, app: object): Promise<void> {
    await this.patch(name, { template: { spec: app } });
  }

  async get(name: string): Promise<NCAppSet> {
    return await this.client.request<NCAppSet>({ path: resourcePath(ncappsets, { namespace, name }) });
  }

  async condition(
    name: string,
    type: string,
  ): Promise<{ status?: string; reason?: string; message?: string }> {
    const { status } = await this.get(name);
    return status?.conditions?.find((condition) => condition.type === type) ?? {};
  }

  async apps(set: string): Promise<NCApp[]> {
    const { items } = await listAll<NCApp>(this.client, { resource: ncapps, labelSelector: `app=${set}` });
    return items.sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  }

  /** Whether the newest revision is on all apps, and all are available. */
  async isComplete(name: string): Promise<boolean> {
    const { metadata, status } = await this.get(name);
    const { observedGeneration, desired = 0, updated, available, conditions = [] } = status ?? {};
    return observedGeneration === metadata.generation && updated === desired && available === desired &&
      conditions.some(({ type, reason }) => type === "Progressing" && reason === "RolloutComplete");
  }
}

export interface Witness extends AsyncDisposable {
  /** The most apps that were not ready at the same time since the last call. */
  takeWorst(): number;
}

/** Watches the apps of a set from outside, and counts those that are not ready. */
export async function watchReadiness(client: KubeClient, set: string): Promise<Witness> {
  const ending = new AbortController();
  const apps = new Map<string, boolean>();
  let worst = 0;
  const listed = Promise.withResolvers<void>();
  const isReady = ({ metadata, status = {} }: NCApp) =>
    status.ready === true && (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const look = () => {
    worst = Math.max(worst, [...apps.values()].filter((ready) => !ready).length);
  };
  const watching = (async () => {
    const options = { resource: ncapps, labelSelector: `app=${set}` };
    for await (const event of followList<NCApp>(client, options, ending.signal)) {
      if (event.type === "listed") {
        for (const app of event.items) apps.set(app.metadata.name, isReady(app));
        look();
        listed.resolve();
      } else if (event.type === "applied") {
        apps.set(event.object.metadata.name, isReady(event.object));
        look();
      } else if (event.type === "deleted") apps.delete(event.object.metadata.name);
    }
  })();
  await listed.promise;
  return {
    takeWorst() {
      const taken = worst;
      worst = 0;
      return taken;
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
    },
  };
}
