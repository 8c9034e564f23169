/** Follows sets, apps, revisions, nodes and Leases, and fills the store. */
import type { V1Node } from "@kubernetes/client-node";
import { leaseNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { FollowerState } from "../kube/controller.ts";
import { eachOf, followInto, type Sink } from "../kube/follower.ts";
import type { Lease } from "../kube/lease.ts";
import {
  controllerRevisions,
  type KubeResource,
  leases,
  ncapps,
  ncappsets,
  nodes,
} from "../kube/resources.ts";
import type { FollowOptions } from "../kube/watch/watch.ts";
import type { KubeObject, Wire } from "../kube/wire.ts";
import type { Logger } from "../lib/log.ts";
import { isAgentLease, type Nodes } from "./nodes.ts";
import { slim } from "./slim.ts";
import type { ObjectStore, Store } from "./store.ts";
import type { Meta } from "./types.ts";

export interface Followers {
  readonly states: readonly FollowerState[];
  readonly ready: boolean;
  readonly seesLeases: boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** As in the scheduler: a dead connection must not look like silent nodes, whose Leases last 40 s. */
const leaseSilenceMs = 15_000;
const leaseOpenMs = 10_000;

export function createFollowers(
  client: KubeClient,
  { store, nodes: known }: { store: Store; nodes: Nodes },
  log: Logger,
): Followers {
  const states: FollowerState[] = [];
  const runs: ((signal: AbortSignal) => Promise<void>)[] = [];
  const follow = <T extends KubeObject>(sink: Sink<T>) => {
    const state = { name: sink.resource.plural, listed: false, alive: false, message: "not listed yet" };
    states.push(state);
    runs.push((signal) => followInto(client, sink, state, log, () => {}, signal));
    return state;
  };
  follow(into(ncappsets, store.sets));
  follow(into(ncapps, store.apps, { keep: slim }));
  follow(into(controllerRevisions, store.revisions, { keep: isOfSet }));
  follow<Wire<V1Node>>({
    resource: nodes,
    ...eachOf<Wire<V1Node>>(
      (node) => known.applyNode(node as Wire<V1Node> & { metadata: { name: string } }),
      ({ metadata }) => known.removeNode(metadata?.name ?? ""),
    ),
  });
  const leaseState = follow<Lease>({
    resource: leases,
    options: { namespace: leaseNamespace, keep: isAgentLease, silenceMs: leaseSilenceMs },
    openMs: leaseOpenMs,
    replace: (items) => items.forEach(known.applyLease),
    apply: known.applyLease,
    // A node whose Lease is deleted counts as silent.
    remove: () => {},
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

function into<T extends { metadata: Meta }>(
  resource: KubeResource,
  store: ObjectStore<T>,
  options: Partial<FollowOptions<T>> = {},
): Sink<T> {
  return {
    resource,
    options,
    replace: (items, rewound, version) => store.replace(items, version, { rewound }),
    apply: (object) => store.apply(object),
    remove: ({ metadata }) => store.remove(metadata),
  };
}

/** Those of StatefulSets and DaemonSets are of no use here. */
function isOfSet({ metadata: { ownerReferences = [] } }: { metadata: Meta }): boolean {
  const owner = ownerReferences.find(({ controller }) => controller);
  return owner === undefined || owner.kind === "NCAppSet";
}
