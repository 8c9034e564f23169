/** Follows the six resources that the scheduler decides by, into the cluster. */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { leaseNamespace } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Lease } from "../../kube/lease.ts";
import { objectKey } from "../../kube/objects.ts";
import {
  type KubeResource,
  leases,
  limitRanges,
  ncapps,
  nodes,
  priorityClasses,
  resourceQuotas,
} from "../../kube/resources.ts";
import { followList, type FollowOptions } from "../../kube/watch/watch.ts";
import type { Identified, KubeObject, Wire } from "../../kube/wire.ts";
import type { Logger } from "../../lib/log.ts";
import { type ClusterState, isAgentLease } from "../state/state.ts";
import { isEarlier, isLater } from "../../kube/resource-version.ts";
import { slim } from "./slim.ts";

/** How one resource is followed. */
export interface FollowerState {
  name: string;
  /** A whole list was seen, once. */
  listed: boolean;
  /** Nothing is known to be missing now. */
  alive: boolean;
  message: string;
}

export interface Followers {
  readonly states: readonly FollowerState[];
  /** All that decisions need has been seen. */
  readonly ready: boolean;
  /** The agents' Leases can be seen now. */
  readonly seesLeases: boolean;
  run(signal: AbortSignal): Promise<void>;
}

interface Sink<T extends KubeObject> {
  resource: KubeResource;
  options?: Partial<FollowOptions<T>>;
  /** How long a watch may take until it is accepted, where that is not for the client to say. */
  openMs?: number;
  /** `rewound`: the list is older than what was seen before. */
  replace(items: Identified<T>[], rewound: boolean): void;
  apply(object: Identified<T>): void;
  remove(object: Identified<T>): void;
}

/** The watch is reliable; a whole list of a large cluster is expensive. */
const relistMs = 1_800_000;
/** Agents renew every 10 s: a watch that is silent for longer is looked after before nodes are taken for lost. */
const leaseSilenceMs = 15_000;
/** Until then a dead connection counts as a silence of nodes: both together are to be well below the 40 s of a Lease. */
const leaseOpenMs = 10_000;

export function createFollowers(
  client: KubeClient,
  cluster: ClusterState,
  log: Logger,
  onNews: () => void,
): Followers {
  const runs: ((signal: AbortSignal) => Promise<void>)[] = [];
  const states: FollowerState[] = [];

  const follow = <T extends KubeObject>(sink: Sink<T>) => {
    const name = sink.resource.plural;
    const state: FollowerState = { name, listed: false, alive: false, message: "not listed yet" };
    states.push(state);
    runs.push((signal) => followInto(client, sink, state, log, onNews, signal));
    return state;
  };

  follow<NCApp>({
    resource: ncapps,
    // Pages are slimmed as they come: of 50,000 apps only what is read stays in memory.
    options: { keep: slim },
    replace: (items, rewound) => cluster.replaceApps(items, { rewound }),
    apply: (object) => cluster.applyApp(object),
    remove: (object) => cluster.removeApp(objectKey(object), object.metadata.uid),
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
      (object) => cluster.applyPriorityClass(object),
      ({ metadata }) => cluster.removePriorityClass(metadata?.name ?? ""),
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

async function followInto<T extends KubeObject>(
  client: KubeClient,
  { resource, options = {}, openMs, replace, apply, remove }: Sink<T>,
  state: FollowerState,
  log: Logger,
  onNews: () => void,
  signal: AbortSignal,
): Promise<void> {
  const stream: KubeClient["stream"] = (request) => client.stream({ timeoutMs: openMs, ...request });
  let latest = "0";
  for await (
    const event of followList<T>({ ...client, stream }, { resource, relistMs, ...options }, signal)
  ) {
    if (event.type === "trouble") {
      Object.assign(state, { alive: false, message: event.error.message });
      log.warn(`cannot follow ${resource.plural}; trying again`, { error: event.error });
      continue;
    }
    if (event.type === "listed") {
      const rewound = isEarlier(event.resourceVersion, latest);
      if (rewound) log.warn(`the server has gone back in time with its ${resource.plural}`);
      replace(event.items, rewound);
      latest = event.resourceVersion;
      state.listed = true;
    } else if (event.type !== "alive") {
      const { resourceVersion } = event.object.metadata;
      if (isLater(resourceVersion, latest)) latest = resourceVersion;
      if (event.type === "applied") apply(event.object);
      else remove(event.object);
    }
    Object.assign(state, { alive: true, message: "followed" });
    onNews();
  }
}

/** For what is known one by one: a list takes away what it does not have. */
function eachOf<T extends KubeObject>(put: (object: T) => void, take: (object: T) => void) {
  const known = new Map<string, T>();
  const apply = (object: T) => {
    known.set(objectKey(object), object);
    put(object);
  };
  const remove = (object: T) => {
    known.delete(objectKey(object));
    take(object);
  };
  return {
    apply,
    remove,
    replace(items: T[]) {
      const listed = new Set(items.map(objectKey));
      for (const [key, object] of [...known]) if (!listed.has(key)) remove(object);
      items.forEach(apply);
    },
  };
}
