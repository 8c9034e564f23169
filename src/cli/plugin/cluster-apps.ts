/** NCApps through the API server, as `kubectl ncapp` uses them. */
import { annotations, appKey, defaultNamespace } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { events, ncappPath, ncapps, nodes, resourcePath } from "../../kube/resources.ts";
import { closest } from "../../lib/closest.ts";
import type { Node } from "../../node/node-object.ts";
import type { AppName } from "../agent-api/agent-api.ts";
import { connectCluster, kubectlConfig } from "../cluster/cluster.ts";
import { type Flag, type Invocation, type Io, textFlag } from "../command.ts";

export interface ClusterApps extends Disposable {
  /** The namespace that the flags or the context mean. */
  namespace: string;
  /** Those of one namespace, or of all. */
  list(namespace: string | undefined): Promise<NCApp[]>;
  get(app: AppName): Promise<NCApp>;
  /** What happened to an app, oldest first. */
  events(app: NCApp): Promise<AppEventRow[]>;
  restart(app: AppName): Promise<void>;
  node(name: string): Promise<Node>;
  /** The bearer token that the API server is shown; undefined where the user proves it otherwise. */
  token(): Promise<string | undefined>;
  /** The authority of the API server's certificate, as PEM; undefined where that is the system's. */
  authority(): Promise<string | undefined>;
}

export interface AppEventRow {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
}

export const clusterFlags: Record<string, Flag> = {
  kubeconfig: { kind: "text", value: "FILE", help: "How to reach the API server.", default: "kubectl's own" },
  context: { kind: "text", value: "NAME", help: "Another context of the kubeconfig." },
  namespace: { kind: "text", short: "n", value: "NAME", help: "Namespace.", default: "that of the context" },
};

/** Connects as kubectl would: by --kubeconfig, KUBECONFIG, or the file in the home folder. */
export async function connectApps(
  invocation: Invocation,
  io: Io,
  now: () => number = Date.now,
): Promise<ClusterApps> {
  const { env } = io;
  const kubeconfig = textFlag(invocation, "kubeconfig") ?? kubectlConfig(env);
  const cluster = await connectCluster({ kubeconfig, context: textFlag(invocation, "context"), env });
  const { client } = cluster;
  return {
    namespace: textFlag(invocation, "namespace") ?? client.access.namespace ?? defaultNamespace,
    list: (namespace) => listApps(client, namespace),
    get: (app) => onApp(client, app, () => client.request({ path: ncappPath(app.namespace, app.name) })),
    events: (app) => listEvents(client, app),
    async restart(app) {
      const body = {
        metadata: { annotations: { [annotations.restartedAt]: new Date(now()).toISOString() } },
      };
      const path = ncappPath(app.namespace, app.name);
      await onApp(client, app, () => client.request({ method: "PATCH", path, body }));
    },
    node: (name) => readNode(client, name),
    async token() {
      const { headers } = await client.access.authorize();
      const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
      return /^Bearer (.+)$/.exec(value ?? "")?.[1];
    },
    authority: async () => (await client.access.tls()).ca,
    [Symbol.dispose]: () => cluster[Symbol.dispose](),
  };
}

async function readNode(client: KubeClient, name: string): Promise<Node> {
  try {
    return await client.request<Node>({ path: resourcePath(nodes, { name }) });
  } catch (cause) {
    const why = hasStatus(cause, 404)
      ? `there is no Node ${name}`
      : hasStatus(cause, 403)
      ? `you may not get the Node ${name}`
      : `the Node ${name} cannot be read`;
    throw new Error(`${why}, which has the address of its agent: name that with --agent HOST:PORT`, {
      cause,
    });
  }
}

async function listApps(client: KubeClient, namespace: string | undefined): Promise<NCApp[]> {
  return (await listAll<NCApp>(client, { resource: ncapps, namespace })).items;
}

async function listEvents(client: KubeClient, { metadata }: NCApp): Promise<AppEventRow[]> {
  const { items } = await client.request<{ items?: AppEventRow[] | null }>({
    path: resourcePath(events, { namespace: metadata.namespace }),
    query: { fieldSelector: `involvedObject.uid=${metadata.uid}` },
  });
  return (items ?? []).sort((one, other) => (one.lastTimestamp ?? "") < (other.lastTimestamp ?? "") ? -1 : 1);
}

async function onApp<T>(client: KubeClient, app: AppName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    const names = (await listApps(client, app.namespace)).map(({ metadata }) => metadata.name);
    const near = closest(app.name, names);
    const next = near ? `did you mean ${near}?` : "'kubectl ncapp ps -A' lists all";
    throw new Error(`no NCApp ${appKey(app.namespace, app.name)}; ${next}`);
  }
}
