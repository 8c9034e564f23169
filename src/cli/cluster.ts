/** The API server, as commands use it. */
import { join } from "node:path";
import { type AccessOptions, loadAccess } from "../kube/access/access.ts";
import { createKubeClient, createTransport, type KubeClient } from "../kube/client/client.ts";
import { version } from "../lib/version.ts";

export { readServerVersion } from "../kube/server-version.ts";

export interface ClusterConnection extends Disposable {
  client: KubeClient;
  /** The server's clock minus ours at its last answer, in milliseconds; undefined before the first. */
  clockSkewMs(): number | undefined;
}

/** Prepares a connection to the API server. The first request shows whether it answers. */
export async function connectCluster(options: AccessOptions): Promise<ClusterConnection> {
  const access = await loadAccess(options);
  const transport = createTransport(access, { connectTimeoutMs: 5000 });
  let skew: number | undefined;
  const client = createKubeClient(access, {
    userAgent: `nckubelet/${version}`,
    timeoutMs: 10_000,
    retries: 0,
    transport: {
      ...transport,
      async send(request) {
        const response = await transport.send(request);
        const date = Date.parse(String(response.headers.date));
        if (!Number.isNaN(date)) skew = date - Date.now();
        return response;
      },
    },
  });
  return { client, clockSkewMs: () => skew, [Symbol.dispose]: () => client.close() };
}

/** Returns the kubeconfig that kubectl reads by default: the list in KUBECONFIG, or the file in the home folder. */
export function kubectlConfig(env: Record<string, string | undefined>): string {
  return env.KUBECONFIG || join(env.HOME ?? "/root", ".kube/config");
}
