/** Which resources the scheduler decides by, and how they come into the cluster state: by lists and watches, or once. */
import type {
  V1LimitRange,
  V1Node,
  V1PodDisruptionBudget,
  V1PriorityClass,
  V1ResourceQuota,
} from "@kubernetes/client-node";
import { readBudget } from "../../api/placement/placement.ts";
import { isAgentLease, leaseNamespace } from "../../api/names.ts";
import {
  createFollowers,
  eachOf,
  type Followers,
  type Hub,
  leaseTimes,
  type Sink,
} from "../../kube/follower.ts";
import type { Lease } from "../../kube/lease.ts";
import { objectKey } from "../../kube/objects.ts";
import {
  disruptionBudgets,
  leases,
  limitRanges,
  ncapps,
  nodes,
  priorityClasses,
  resourceQuotas,
} from "../../kube/resources.ts";
import type { KubeObject, Wire } from "../../kube/wire.ts";
import { type ClusterState, slim, type SlimApp } from "../state/state.ts";

export function followCluster(hub: Hub, cluster: ClusterState, onChange: () => void): Followers {
  const followers = createFollowers(hub, onChange);
  connectCluster(cluster, followers.follow);
  return followers;
}

/** Passes what each resource needs to `follow`, in any order. */
export function connectCluster(
  cluster: ClusterState,
  follow: <T extends KubeObject>(sink: Sink<T>) => void,
): void {
  const { rules, snapshot } = cluster;
  follow<SlimApp>({
    resource: ncapps,
    // Each page is slimmed as it arrives: in memory, 50,000 apps have only the fields that the scheduler reads.
    options: { slim },
    replace: (items, rewound, version) => cluster.replaceApps(items, version, rewound),
    apply: (object) => cluster.apps.apply(object),
    remove: (object) => cluster.apps.remove(objectKey(object), object.metadata.uid),
  });
  follow<Wire<V1Node>>({
    resource: nodes,
    ...eachOf((node) => cluster.applyNode(node), ({ metadata }) => snapshot.removeNode(metadata?.name ?? "")),
  });
  follow<Lease>({
    resource: leases,
    options: { namespace: leaseNamespace, filter: isAgentLease, silenceMs: leaseTimes.silenceMs },
    openMs: leaseTimes.openMs,
    replace: (items) => cluster.liveness.replaceLeases(items),
    apply: (object) => cluster.liveness.applyLease(object),
    remove: (object) => cluster.liveness.removeLease(object),
  });
  follow<Wire<V1PriorityClass>>({
    resource: priorityClasses,
    ...eachOf(
      (object) => cluster.apps.applyPriorityClass(object),
      ({ metadata }) => cluster.apps.removePriorityClass(metadata?.name ?? ""),
    ),
  });
  follow<Wire<V1PodDisruptionBudget>>({
    resource: disruptionBudgets,
    optional: true,
    ...eachOf(
      (object) => cluster.budgets.set(readBudget(object as Parameters<typeof readBudget>[0])),
      ({ metadata }) => cluster.budgets.remove(metadata?.namespace ?? "", metadata?.name ?? ""),
    ),
  });
  follow<Wire<V1LimitRange>>({
    resource: limitRanges,
    ...eachOf((object) => rules.applyLimitRange(object), (object) => rules.removeLimitRange(object)),
  });
  follow<Wire<V1ResourceQuota>>({
    resource: resourceQuotas,
    ...eachOf((object) => rules.applyQuota(object), (object) => rules.removeQuota(object)),
  });
}
