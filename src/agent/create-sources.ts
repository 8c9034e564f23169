import { join } from "node:path";
import type { KubeClient } from "../kube/client/client.ts";
import type { RestartReason } from "../kube/watch/watch.ts";
import { createApiServerSource } from "../sources/api-server.ts";
import { createDirectorySource } from "../sources/directory.ts";
import { createSocketSource, type SocketSource } from "../sources/socket.ts";
import type { LastKnown, Source } from "../sources/source.ts";
import { createUrlSource } from "../sources/url.ts";
import type { AgentOptions } from "./options.ts";

export const apiServerSource = "api-server";
export const socketSource = "socket";
const manifestsSource = "manifests";
const urlSource = "manifest-url";

export interface SourceParts {
  client?: KubeClient;
  /** Calls back when the API server has answered a request well, unless what it returns is called before. */
  answered?: (callback: () => void) => () => void;
  /** The apps of a source as the agent last knew them. */
  lastKnown: (source: string) => LastKnown[];
  /** Called whenever the watch of the API server is opened anew. */
  onWatchRestart?: (reason: RestartReason) => void;
}

/** The sources that the options ask for, in the order in which they win over each other. The socket's is always among them. */
export function createSources(
  { manifests, manifestUrl, nodeName, namespace, stateDir }: AgentOptions,
  { client, answered, lastKnown, onWatchRestart }: SourceParts,
): { sources: Source[]; socket: SocketSource } {
  const socket = createSocketSource(join(stateDir, "socket-apps"), {
    name: socketSource,
    lastKnown: () => lastKnown(socketSource).map(({ app }) => app),
  });
  const of = (name: string) => ({ name, lastKnown: () => lastKnown(name) });
  const follow = { answered, onRestart: onWatchRestart };
  const cluster = { name: apiServerSource, node: nodeName, namespace, follow };
  const sources = [
    ...(client ? [createApiServerSource(client, cluster)] : []),
    ...(manifests ? [createDirectorySource(manifests, of(manifestsSource))] : []),
    ...(manifestUrl ? [createUrlSource(manifestUrl, of(urlSource))] : []),
    socket,
  ];
  return { sources, socket };
}
