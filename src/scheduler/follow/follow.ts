/** Follows the six resources that the scheduler decides by, with lists and watches, and applies them to the cluster state. */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { leaseNamespace } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { FollowerState } from "../../kube/controller.ts";
import { eachOf, followInto, type Sink } from "../../kube/follower.ts";
import type { Lease } from "../../kube/lease.ts";
import { objectKey } from "../../kube/objects.ts";
import { leases, limitRanges, ncapps, nodes, priorityClasses, resourceQuotas } from "../../kube/resources.ts";
import type { KubeObject, Wire } from "../../kube/wire.ts";
import type { Logger } from "../../lib/log.ts";
import { type ClusterState, isAgentLease, slim, type SlimApp } from "../state/state.ts";

export interface Followers {
  readonly states: readonly FollowerState[];
  /** All resources have been listed. */
  readonly ready: boolean;
  readonly seesLeases: boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** Agents renew every 10 s: a watch that is silent for longer is checked before nodes count as lost. */
const leaseSilenceMs = 15_000;
/** Until then a dead connection looks like silent nodes, so with `leaseSilenceMs` it must stay well below the 40 s of a Lease. */
const leaseOpenMs = 10_000;

export function createFollowers(
  client: KubeClient,
  cluster: ClusterState,
  log: Logger,
  onChange: () => void,
): Followers {
  const runs: ((signal: AbortSignal) => Promise<void>)[] = [];
  const states: FollowerState[] = [];

  const follow = <T extends KubeObject>(sink: Sink<T>) => {
    const name = sink.resource.plural;
    const state: FollowerState = { name, listed: false, alive: false, message: "not listed yet" };
    states.push(state);
    runs.push((signal) => followInto(client, sink, state, log, onChange, signal));
    return state;
  };

  follow<SlimApp>({
    resource: ncapps,
    // Each page is slimmed as it arrives: in memory, 50,000 apps have only the fields that the scheduler reads.
    options: { keep: slim },
    replace: (items, rewound) => cluster.replaceApps(items, { rewound }),
    apply: (object) => cluster.apps.apply(object),
    remove: (object) => cluster.apps.remove(objectKey(object), object.metadata.uid),
  });
  follow<Wire<V1Node>>({
    resource: nodes,
    replace: (items) => cluster.replaceNodes(items),
    apply: (object) => cluster.applyNode(object),
    remove: ({ metadata }) => cluster.removeNode(metadata.name),
  });
  const leaseState = follow<Lease>({
    resource: leases,
    options: { namespace: leaseNamespace, keep: isAgentLease, silenceMs: leaseSilenceMs },
    openMs: leaseOpenMs,
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
  follow<Wire<V1LimitRange>>({
    resource: limitRanges,
    ...eachOf((object) => cluster.applyLimitRange(object), (object) => cluster.removeLimitRange(object)),
  });
  follow<Wire<V1ResourceQuota>>({
    resource: resourceQuotas,
    ...eachOf((object) => cluster.applyQuota(object), (object) => cluster.removeQuota(object)),
  });

  return {
    states,
    get ready() {
      return states.every(({ listed }) => listed);
    },
    get seesLeases() {
      return leaseState.alive;
    },
    run: async (signal) => void await Promise.all(runs.map((run) => run(signal))),
  };
}
