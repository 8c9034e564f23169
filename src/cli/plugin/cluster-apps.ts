/** NCApps as the API server has them: ps, top, logs and describe of `kubectl ncapp`. */
import { annotations, defaultNamespace, isMirror, podContainer } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient, StreamRequest } from "../../kube/client/client.ts";
import { events, ncappPath, ncapps, pods, resourcePath } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { describeError } from "../../lib/log.ts";
import { logQuery } from "../agent-api/agent-api.ts";
import { type AppName, fullName } from "../app-name.ts";
import { type ClusterConnection, connectCluster, kubectlConfig } from "../cluster.ts";
import { type Flag, type Invocation, type Io, textFlag } from "../command.ts";
import type { AppOrigin, AppReader } from "../app-reader.ts";
import { describeEvents, printableLine, type ShownEvent } from "../screen/screen.ts";
import { findPod } from "./app-pod.ts";
import { explainMissing, explainMissingCRD } from "./set-objects.ts";

export const clusterFlags: Record<string, Flag> = {
  kubeconfig: { value: "FILE", help: "Kubeconfig of the API server.", default: "that of kubectl" },
  context: { value: "NAME", help: "Context of the kubeconfig.", default: "its current one" },
  namespace: { short: "n", value: "NAME", help: "Namespace of the apps.", default: "that of the context" },
};

export const clusterApps: AppOrigin = {
  program: "kubectl ncapp",
  scope: "cluster",
  appFlags: clusterFlags,
  listFlags: {
    "all-namespaces": { short: "A", help: "Apps of all namespaces." },
    ...clusterFlags,
  },
  interval: "5s",
  connect: connectApps,
};

export interface ClusterApps extends AppReader {
  namespace: string;
  /** Returns the Pod that shows the app. */
  findPod(app: AppName): Promise<AppName>;
}

/** Connects as kubectl does: by --kubeconfig, KUBECONFIG, or the file in the home folder. `namespace` is that of the command. */
export async function connectAsKubectl(
  invocation: Invocation,
  { env }: Io,
): Promise<ClusterConnection & { namespace: string }> {
  const kubeconfig = textFlag(invocation, "kubeconfig") ?? kubectlConfig(env);
  const cluster = await connectCluster({ kubeconfig, context: textFlag(invocation, "context"), env });
  const standard = cluster.client.access.namespace ?? defaultNamespace;
  return { ...cluster, namespace: textFlag(invocation, "namespace") ?? standard };
}

export async function connectApps(invocation: Invocation, io: Io): Promise<ClusterApps> {
  const { client, namespace, [Symbol.dispose]: close } = await connectAsKubectl(invocation, io);
  const all = invocation.flags["all-namespaces"] === true;
  const get = (app: AppName) =>
    onApp(client, app, () => client.request<NCApp>({ path: ncappPath(app.namespace, app.name) }));
  return {
    namespace,
    list: () => listApps(client, all ? undefined : namespace),
    none: all ? "No NCApps." : `No NCApps in namespace ${namespace}. Use -A for all namespaces.`,
    get,
    async *logs(app, { signal, ...choice }) {
      const query = { container: podContainer, ...Object.fromEntries(logQuery(choice)) };
      const pod = await findPod(client, await get(app));
      yield* streamLog(client, { path: resourcePath(pods, { ...pod, subresource: "log" }), query, signal });
    },
    broken: async () => [],
    heading: async () => [],
    // A user who may read NCApps need not be allowed to list events: describe shows the rest without them.
    events: (app) =>
      listEvents(client, app).then(
        (found) => describeEvents(found, Date.now()),
        (error) => [`Events: cannot be read: ${printableLine(describeError(error))}`],
      ),
    findPod: async (app) => await findPod(client, await get(app)),
    async restart(app) {
      const found = await get(app);
      if (isMirror(found)) {
        const key = fullName(app);
        throw new Error(
          `${key} is the mirror of an app on ${found.spec.nodeName}: use 'nckubelet restart ${key}' there`,
        );
      }
      const body = {
        metadata: { annotations: { [annotations.restartedAt]: new Date().toISOString() } },
      };
      const path = ncappPath(app.namespace, app.name);
      await onApp(client, app, () => client.request({ method: "PATCH", path, body }));
    },
    [Symbol.dispose]: close,
  };
}

/** Yields the log until the signal aborts. */
async function* streamLog(client: KubeClient, request: StreamRequest): AsyncGenerator<Uint8Array> {
  try {
    yield* await client.stream({ ...request, plain: true });
  } catch (error) {
    if (!request.signal?.aborted) throw error;
  }
}

async function listApps(client: KubeClient, namespace: string | undefined): Promise<NCApp[]> {
  return (await listAll<NCApp>(client, { resource: ncapps, namespace }).catch(explainMissingCRD)).items;
}

/** Lists the events of an app, oldest first. */
async function listEvents(client: KubeClient, { metadata }: NCApp): Promise<ShownEvent[]> {
  const { items } = await client.request<{ items?: ShownEvent[] | null }>({
    path: resourcePath(events, { namespace: metadata.namespace }),
    query: { fieldSelector: `involvedObject.uid=${metadata.uid}` },
  });
  return (items ?? []).sort((a, b) => (a.lastTimestamp ?? "") < (b.lastTimestamp ?? "") ? -1 : 1);
}

/** Does something with an app; if there is no such app, the error suggests a similar name. */
async function onApp<T>(client: KubeClient, app: AppName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return await explainMissing(error, client, { resource: ncapps, named: app, list: "kubectl ncapp ps -A" });
  }
}
