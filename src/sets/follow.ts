/** Follows sets, apps, revisions, nodes and Leases, and fills the store. */
import type { V1Node, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { readBudget } from "../api/placement/placement.ts";
import { isAgentLease, leaseNamespace } from "../api/names.ts";
import {
  createFollowers,
  eachOf,
  type Followers,
  type Hub,
  leaseTimes,
  type Sink,
} from "../kube/follower.ts";
import type { Lease } from "../kube/lease.ts";
import type { ObjectStore } from "../kube/object-store.ts";
import { objectKey } from "../kube/objects.ts";
import { isDeepStrictEqual } from "node:util";
import {
  controllerRevisions,
  disruptionBudgets,
  type KubeResource,
  leases,
  ncapps,
  ncappsets,
  nodes,
} from "../kube/resources.ts";
import type { FollowOptions } from "../kube/watch/watch.ts";
import type { Wire } from "../kube/wire.ts";
import type { Nodes } from "./nodes.ts";
import { slim } from "./slim.ts";
import { keyOf, type Store, type Stored } from "./store.ts";
import type { Meta } from "./types.ts";

/** `onBudget` is called with the namespace of a budget that has changed. */
export function followSets(
  hub: Hub,
  { store, nodes: known, onBudget }: { store: Store; nodes: Nodes; onBudget: (namespace: string) => void },
): Followers {
  const followers = createFollowers(hub);
  const { follow } = followers;
  follow(into(ncappsets, store.sets));
  follow(into(ncapps, store.apps, { slim }));
  follow(into(controllerRevisions, store.revisions, { filter: isOfSet }));
  follow<Wire<V1PodDisruptionBudget>>({
    resource: disruptionBudgets,
    optional: true,
    ...eachOf<Wire<V1PodDisruptionBudget>>(
      (object) => {
        const budget = readBudget(object as Parameters<typeof readBudget>[0]);
        const key = objectKey(object);
        if (isDeepStrictEqual(store.budgets.get(key), budget)) return;
        store.budgets.set(key, budget);
        onBudget(budget.namespace);
      },
      (object) => {
        if (store.budgets.delete(objectKey(object))) onBudget(object.metadata?.namespace ?? "");
      },
    ),
  });
  follow<Wire<V1Node>>({
    resource: nodes,
    ...eachOf<Wire<V1Node>>(
      (node) => known.applyNode(node as Wire<V1Node> & { metadata: { name: string } }),
      ({ metadata }) => known.removeNode(metadata?.name ?? ""),
    ),
  });
  follow<Lease>({
    resource: leases,
    options: { namespace: leaseNamespace, filter: isAgentLease, silenceMs: leaseTimes.silenceMs },
    openMs: leaseTimes.openMs,
    replace: (items) => items.forEach(known.applyLease),
    apply: known.applyLease,
    // A node whose Lease is deleted counts as silent.
    remove: () => {},
  });
  return followers;
}

function into<T extends Stored>(
  resource: KubeResource,
  store: ObjectStore<T>,
  options: Partial<FollowOptions<T>> = {},
): Sink<T> {
  return {
    resource,
    options,
    replace: (items, rewound, version) => store.replace(items, version, { rewound }),
    apply: (object) => store.apply(object),
    remove: (object) => store.remove({ key: keyOf(object), uid: object.metadata.uid }),
  };
}

/** Those of StatefulSets and DaemonSets are of no use here. */
function isOfSet({ metadata: { ownerReferences = [] } }: { metadata: Meta }): boolean {
  const owner = ownerReferences.find(({ controller }) => controller);
  return owner === undefined || owner.kind === "NCAppSet";
}
