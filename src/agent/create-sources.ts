import { join } from "node:path";
import type { NCApp } from "../api/types.ts";
import type { KubeClient } from "../kube/client.ts";
import { createApiServerSource } from "../sources/api-server.ts";
import { createDirectorySource } from "../sources/directory.ts";
import { createSocketSource, type SocketSource } from "../sources/socket.ts";
import type { Source } from "../sources/source.ts";
import type { AgentOptions } from "./options.ts";

export const apiServerSource = "api-server";
export const socketSource = "socket";

export interface SourceParts {
  client?: KubeClient;
  /** The apps of a source as the agent last knew them. */
  lastKnown: (source: string) => NCApp[];
}

/** The sources that the options ask for, in the order in which they win over each other. The socket's is always among them. */
export function createSources(
  { manifests, nodeName, namespace, stateDir }: AgentOptions,
  { client, lastKnown }: SourceParts,
): { sources: Source[]; socket: SocketSource } {
  const socket = createSocketSource(join(stateDir, "socket-apps"), {
    name: socketSource,
    lastKnown: () => lastKnown(socketSource),
  });
  const sources = [
    ...(client ? [createApiServerSource(client, { name: apiServerSource, node: nodeName, namespace })] : []),
    ...(manifests ? [createDirectorySource(manifests)] : []),
    socket,
  ];
  return { sources, socket };
}
