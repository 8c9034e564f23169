import type { KubeClient } from "./client/client.ts";

/** Returns the version of the API server as it says it, and its minor version; 0 if that is unknown. Clouds write the minor as `27+`. */
export async function readServerVersion(
  client: KubeClient,
  signal?: AbortSignal,
): Promise<{ text: string; minor: number }> {
  const { gitVersion, minor } = await client.request<{ gitVersion?: string; minor?: string }>({
    path: "/version",
    signal,
  });
  return { text: gitVersion ?? "of unknown version", minor: parseInt(minor ?? "", 10) || 0 };
}
