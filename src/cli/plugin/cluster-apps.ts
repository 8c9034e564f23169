/** NCApps as the API server has them: ps, top, logs and describe of `kubectl ncapp`. */
import { annotations, defaultNamespace } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { events, ncappPath, ncapps, resourcePath } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { closest } from "../../lib/closest.ts";
import { describeError } from "../../lib/log.ts";
import { logPath, streamFromNode } from "../agent-api/agent-api.ts";
import { type AppName, fullName } from "../app-name.ts";
import { connectCluster, kubectlConfig } from "../cluster.ts";
import { type Flag, type Invocation, type Io, textFlag } from "../command.ts";
import type { AppOrigin, AppReader } from "../read-commands.ts";
import { ageOf, formatTable, printableLine } from "../screen/screen.ts";
import { endpointFlags, findEndpoint } from "./find-endpoint.ts";

export const clusterFlags: Record<string, Flag> = {
  kubeconfig: {
    kind: "text",
    value: "FILE",
    help: "Kubeconfig of the API server.",
    default: "that of kubectl",
  },
  context: { kind: "text", value: "NAME", help: "Context of the kubeconfig.", default: "its current one" },
  namespace: {
    kind: "text",
    short: "n",
    value: "NAME",
    help: "Namespace of the apps.",
    default: "that of the context",
  },
};

export const clusterApps: AppOrigin = {
  program: "kubectl ncapp",
  scope: "cluster",
  appFlags: clusterFlags,
  listFlags: {
    "all-namespaces": { kind: "switch", short: "A", help: "Apps of all namespaces." },
    ...clusterFlags,
  },
  logFlags: endpointFlags,
  interval: "5s",
  connect: connectApps,
};

export interface ClusterApps extends AppReader {
  namespace: string;
  restart(app: AppName): Promise<void>;
}

/** Connects as kubectl does: by --kubeconfig, KUBECONFIG, or the file in the home folder. */
export async function connectApps(
  invocation: Invocation,
  io: Io,
  now: () => number = Date.now,
): Promise<ClusterApps> {
  const { env } = io;
  const kubeconfig = textFlag(invocation, "kubeconfig") ?? kubectlConfig(env);
  const cluster = await connectCluster({ kubeconfig, context: textFlag(invocation, "context"), env });
  const { client } = cluster;
  const namespace = textFlag(invocation, "namespace") ?? client.access.namespace ?? defaultNamespace;
  const all = invocation.flags["all-namespaces"] === true;
  const get = (app: AppName) =>
    onApp(client, app, () => client.request<NCApp>({ path: ncappPath(app.namespace, app.name) }));
  return {
    namespace,
    list: () => listApps(client, all ? undefined : namespace),
    none: all ? "No NCApps." : `No NCApps in namespace ${namespace}. Use -A for all namespaces.`,
    get,
    async *logs(app, { signal, ...choice }) {
      const endpoint = await findEndpoint(await get(app), invocation, client);
      yield* streamFromNode(endpoint, logPath(app, choice), signal);
    },
    heading: async () => [],
    // A user who may read NCApps need not be allowed to list events: describe shows the rest without them.
    events: (app) =>
      listEvents(client, app).then(
        (found) => eventLines(found, now()),
        (error) => [`Events: cannot be read: ${printableLine(describeError(error))}`],
      ),
    async restart(app) {
      const body = {
        metadata: { annotations: { [annotations.restartedAt]: new Date(now()).toISOString() } },
      };
      const path = ncappPath(app.namespace, app.name);
      await onApp(client, app, () => client.request({ method: "PATCH", path, body }));
    },
    [Symbol.dispose]: () => cluster[Symbol.dispose](),
  };
}

async function listApps(client: KubeClient, namespace: string | undefined): Promise<NCApp[]> {
  return (await listAll<NCApp>(client, { resource: ncapps, namespace })).items;
}

/** What commands read of an Event. */
interface AppEvent {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
}

/** Lists the events of an app, oldest first. */
async function listEvents(client: KubeClient, { metadata }: NCApp): Promise<AppEvent[]> {
  const { items } = await client.request<{ items?: AppEvent[] | null }>({
    path: resourcePath(events, { namespace: metadata.namespace }),
    query: { fieldSelector: `involvedObject.uid=${metadata.uid}` },
  });
  return (items ?? []).sort((a, b) => (a.lastTimestamp ?? "") < (b.lastTimestamp ?? "") ? -1 : 1);
}

function eventLines(found: AppEvent[], now: number): string[] {
  if (found.length === 0) return ["Events: none"];
  const cells = found.map(({ type = "", reason = "", message = "", count = 1, lastTimestamp }) =>
    [
      type,
      reason,
      `${ageOf(lastTimestamp, now)}${count > 1 ? ` (x${count})` : ""}`,
      message,
    ].map(printableLine)
  );
  const lines = formatTable([["TYPE", "REASON", "AGE", "MESSAGE"], ...cells]);
  return ["Events:", ...lines.map((line) => `  ${line}`)];
}

/** Does something with an app; if there is no such app, the error suggests a similar name. */
async function onApp<T>(client: KubeClient, app: AppName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    const names = (await listApps(client, app.namespace)).map(({ metadata }) => metadata.name);
    const near = closest(app.name, names);
    const next = near ? `did you mean ${near}?` : "'kubectl ncapp ps -A' lists all";
    throw new Error(`no NCApp ${fullName(app)}; ${next}`);
  }
}
