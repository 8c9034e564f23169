/** A real API server with the NCApp CRD, a client for the benchmark and credentials for an agent. */
import { agentUser } from "../src/api/names.ts";
import { loadAccess } from "../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../src/kube/client/client.ts";
import type { Cluster } from "../test/harness/cluster.ts";
import { withControlPlane } from "../test/harness/control-plane.ts";
import { installCRD } from "../test/harness/install-crd.ts";

/** The node name of the measured agent. */
export const nodeName = "node-a";

export interface ClusterScene {
  cluster: Cluster;
  /** A client with admin rights. */
  client: KubeClient;
  /** Flags for an agent of `nodeName`, under the roles that the project ships. */
  agentFlags: string[];
}

/** Runs a control plane during `use`. */
export async function withClusterScene<T>(use: (scene: ClusterScene) => Promise<T>): Promise<T> {
  return await withControlPlane(async (cluster) => {
    await installCRD(cluster);
    const client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }), {
      maxInFlight: 40,
    });
    const agentKubeconfig = await cluster.kubeconfigFor(agentUser(nodeName));
    const agentFlags = ["--kubeconfig", agentKubeconfig, "--node-name", nodeName, "--enforce", "best-effort"];
    try {
      return await use({ cluster, client, agentFlags });
    } finally {
      client.close();
    }
  });
}

/** Runs `work` for every number below `count`, with limited concurrency. */
export async function inParallel<T>(
  count: number,
  maxInFlight: number,
  work: (at: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: maxInFlight }, async () => {
    while (next < count) {
      const at = next++;
      results[at] = await work(at);
    }
  }));
  return results;
}
