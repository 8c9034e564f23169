import { join } from "node:path";
import type { AgentCounters } from "../server/counters.ts";
import { createApiServerSource } from "../sources/api-server.ts";
import { createDirectorySource } from "../sources/directory.ts";
import type { FolderValues } from "../sources/folder-values.ts";
import { createSocketSource, type SocketSource } from "../sources/socket.ts";
import { type Source, sourceNames } from "../sources/source.ts";
import { createUrlSource } from "../sources/url.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { ApiServerConnection } from "./api-server-connection.ts";
import type { ClusterReports } from "./cluster-reports.ts";
import { type Gate, guardSource } from "./node/node.ts";
import type { AgentOptions } from "./options.ts";

export interface SourceParts {
  /** Absent in a standalone agent, like `cluster`. */
  server?: ApiServerConnection;
  cluster?: ClusterReports;
  supervisor: Supervisor;
  counters: AgentCounters;
  gate: Gate;
  /** The Secrets and ConfigMaps of the manifests folder. */
  values?: FolderValues;
}

/** Returns the sources that the options name, highest precedence first. The socket's is always among them. */
export function createSources(
  { manifests, manifestUrl, nodeName, namespace, stateDir, reloads }: AgentOptions,
  { server, cluster, supervisor, counters, gate, values }: SourceParts,
): { sources: Source[]; socket: SocketSource } {
  const lastKnown = (name: string) => () =>
    supervisor.list().map(({ record }) => record).filter(({ source }) => source === name);
  const socket = createSocketSource(join(stateDir, "socket-apps"), {
    lastKnown: lastKnown(sourceNames.socket),
  });
  const apiServer = (server: ApiServerConnection) =>
    createApiServerSource(server.client, {
      node: nodeName,
      namespace,
      follow: {
        answered: server.answered,
        onRestart: (reason) => counters.watchRestarts.add({ reason }),
      },
    });
  const sources = [
    ...(server && cluster ? [guardSource(apiServer(server), gate, cluster.observe)] : []),
    ...(manifests
      ? [createDirectorySource(manifests, { lastKnown: lastKnown(sourceNames.manifests), values, reloads })]
      : []),
    ...(manifestUrl
      ? [createUrlSource(manifestUrl, { lastKnown: lastKnown(sourceNames.url), reloads })]
      : []),
    socket,
  ];
  return { sources, socket };
}
