import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { isAgentLease, leaseNamespace } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Lease } from "../../kube/lease.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { leases, limitRanges, ncapps, nodes, priorityClasses, resourceQuotas } from "../../kube/resources.ts";
import type { Wire } from "../../kube/wire.ts";
import { ClusterState, slim, type SlimApp } from "../state/state.ts";

/** Reads the cluster state once, for `--explain`. Only the time in its Lease decides whether a node is alive. */
export async function loadCluster(
  client: KubeClient,
  { schedulerName, now = Date.now }: { schedulerName: string; now?: () => number },
): Promise<ClusterState> {
  const cluster = new ClusterState({ schedulerName, clocks: () => ({ observed: 0, wall: now() }) });
  const [classes, ranges, quotas, nodeList, leaseList, apps] = await Promise.all([
    listAll<Wire<V1PriorityClass>>(client, { resource: priorityClasses }),
    listAll<Wire<V1LimitRange>>(client, { resource: limitRanges }),
    listAll<Wire<V1ResourceQuota>>(client, { resource: resourceQuotas }),
    listAll<Wire<V1Node>>(client, { resource: nodes }),
    listAll<Lease>(client, { resource: leases, namespace: leaseNamespace, filter: isAgentLease }),
    listAll<SlimApp>(client, { resource: ncapps, slim }),
  ]);
  for (const item of classes.items) cluster.apps.applyPriorityClass(item);
  for (const item of ranges.items) cluster.applyLimitRange(item);
  for (const item of quotas.items) cluster.applyQuota(item);
  for (const item of nodeList.items) cluster.applyNode(item);
  // Apps before Leases: what an agent has promised is compared with what is bound to its node.
  cluster.replaceApps(apps.items, apps.resourceVersion);
  cluster.liveness.replaceLeases(leaseList.items);
  return cluster;
}
