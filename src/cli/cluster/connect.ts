/** The API server as commands use it. */
import { type AccessOptions, loadAccess } from "../../kube/access/access.ts";
import { createKubeClient, createTransport, type KubeClient } from "../../kube/client/client.ts";
import { version } from "../../lib/version.ts";

export interface ClusterConnection extends Disposable {
  client: KubeClient;
  /** The server's clock less ours at its last answer, in milliseconds; undefined before there is one. */
  clockSkewMs(): number | undefined;
}

/** Finds the API server; whether it answers, the first request shows. */
export async function connectCluster(
  options: AccessOptions,
  { timeoutMs = 10_000, now = Date.now }: { timeoutMs?: number; now?: () => number } = {},
): Promise<ClusterConnection> {
  const access = await loadAccess(options);
  const transport = createTransport({ ...access, connectTimeoutMs: Math.min(timeoutMs, 5000) });
  let skew: number | undefined;
  const client = createKubeClient(access, {
    userAgent: `nckubelet/${version}`,
    timeoutMs,
    retries: 0,
    transport: {
      ...transport,
      async send(request) {
        const response = await transport.send(request);
        const date = Date.parse(String(response.headers.date));
        if (!Number.isNaN(date)) skew = date - now();
        return response;
      },
    },
  });
  return { client, clockSkewMs: () => skew, [Symbol.dispose]: () => client.close() };
}

/** The version of the server. Cloud providers write the minor as `27+`. */
export async function readServerVersion(
  client: KubeClient,
): Promise<{ text: string; minor: number }> {
  const { gitVersion, minor } = await client.request<{ gitVersion?: string; minor?: string }>({
    path: "/version",
  });
  return { text: gitVersion ?? "of unknown version", minor: parseInt(minor ?? "", 10) || 0 };
}
