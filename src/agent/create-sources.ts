import type { KubeClient } from "../kube/client.ts";
import { createApiServerSource } from "../sources/api-server.ts";
import { createDirectorySource } from "../sources/directory.ts";
import type { Source } from "../sources/source.ts";
import type { AgentOptions } from "./options.ts";

export const apiServerSource = "api-server";

/** The sources that the options ask for, in the order in which they win over each other. */
export function createSources(
  { manifests, nodeName, namespace }: AgentOptions,
  client?: KubeClient,
): Source[] {
  return [
    ...(client ? [createApiServerSource(client, { name: apiServerSource, node: nodeName, namespace })] : []),
    ...(manifests ? [createDirectorySource(manifests)] : []),
  ];
}
