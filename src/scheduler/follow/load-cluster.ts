import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { ClusterState } from "../state/state.ts";
import { connectCluster } from "./follow.ts";

/** Reads the cluster state once, for `--explain`. Only the time in its Lease decides whether a node is alive. */
export async function loadCluster(client: KubeClient, schedulerName: string): Promise<ClusterState> {
  const cluster = new ClusterState({ schedulerName, clocks: () => ({ observed: 0, wall: Date.now() }) });
  const lists: Promise<void>[] = [];
  connectCluster(cluster, ({ resource, options, optional, replace }) => {
    const listed = listAll(client, { resource, ...options })
      .then(({ items, resourceVersion }) => replace(items, false, resourceVersion));
    const isMissing = (error: unknown) => hasStatus(error, 403) || hasStatus(error, 404);
    lists.push(
      optional ? listed.catch((error) => isMissing(error) ? undefined : Promise.reject(error)) : listed,
    );
  });
  await Promise.all(lists);
  return cluster;
}
