import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { leaseNamespace } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Lease } from "../../kube/lease.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { leases, limitRanges, ncapps, nodes, priorityClasses, resourceQuotas } from "../../kube/resources.ts";
import type { Wire } from "../../kube/wire.ts";
import { ClusterState, isAgentLease } from "../state/state.ts";
import { slim } from "./slim.ts";

/** The cluster as it is now, read once. A node counts as alive by the time in its Lease: there is no watching it. */
export async function loadCluster(
  client: KubeClient,
  { schedulerName, now = Date.now }: { schedulerName: string; now?: () => number },
): Promise<ClusterState> {
  const cluster = new ClusterState({ schedulerName, clocks: () => ({ watched: 0, wall: now() }) });
  const [classes, ranges, quotas, nodeList, leaseList, apps] = await Promise.all([
    listAll<Wire<V1PriorityClass>>(client, { resource: priorityClasses }),
    listAll<Wire<V1LimitRange>>(client, { resource: limitRanges }),
    listAll<Wire<V1ResourceQuota>>(client, { resource: resourceQuotas }),
    listAll<Wire<V1Node>>(client, { resource: nodes }),
    listAll<Lease>(client, { resource: leases, namespace: leaseNamespace, keep: isAgentLease }),
    listAll<NCApp>(client, { resource: ncapps, keep: slim }),
  ]);
  for (const item of classes.items) cluster.applyPriorityClass(item);
  for (const item of ranges.items) cluster.applyLimitRange(item);
  for (const item of quotas.items) cluster.applyQuota(item);
  cluster.replaceNodes(nodeList.items);
  // The apps first: what an agent has promised is held against what is bound to its node.
  cluster.replaceApps(apps.items);
  cluster.liveness.replaceLeases(leaseList.items);
  return cluster;
}
