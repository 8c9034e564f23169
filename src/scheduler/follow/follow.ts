/** Follows the six resources that the scheduler decides by, with lists and watches, and applies them to the cluster state. */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { leaseNamespace } from "../../api/names.ts";
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
import { type ClusterState, isAgentLease, slim, type SlimApp } from "../state/state.ts";
import { isEarlier, isLater } from "../../kube/resource-version.ts";

export interface FollowerState {
  name: string;
  /** A complete list was received at least once. */
  listed: boolean;
  /** The watch is up to date, as far as the scheduler can know. */
  alive: boolean;
  message: string;
}

export interface Followers {
  readonly states: readonly FollowerState[];
  /** All resources have been listed. */
  readonly ready: boolean;
  readonly seesLeases: boolean;
  run(signal: AbortSignal): Promise<void>;
}

interface Sink<T extends KubeObject> {
  resource: KubeResource;
  options?: Partial<FollowOptions<T>>;
  /** How long the API server may take to accept a watch; by default the client's timeout. */
  openMs?: number;
  /** `rewound`: the list is older than what was received before. */
  replace(items: Identified<T>[], rewound: boolean): void;
  apply(object: Identified<T>): void;
  remove(object: Identified<T>): void;
}

/** Rare: the watch is reliable, and a complete list of a large cluster is expensive. */
const relistMs = 1_800_000;
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

async function followInto<T extends KubeObject>(
  client: KubeClient,
  { resource, options = {}, openMs, replace, apply, remove }: Sink<T>,
  state: FollowerState,
  log: Logger,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const stream: KubeClient["stream"] = (request) => client.stream({ timeoutMs: openMs, ...request });
  let latest = "0";
  for await (
    const event of followList<T>({ ...client, stream }, { resource, relistMs, ...options }, signal)
  ) {
    if (event.type === "problem") {
      Object.assign(state, { alive: false, message: event.error.message });
      log.warn(`cannot watch ${resource.plural}; retrying`, { error: event.error });
      continue;
    }
    if (event.type === "listed") {
      const rewound = isEarlier(event.resourceVersion, latest);
      if (rewound) {
        log.warn(
          `the API server returned an older list of ${resource.plural} than before: it may have been restored from a backup`,
        );
      }
      replace(event.items, rewound);
      latest = event.resourceVersion;
      state.listed = true;
    } else if (event.type !== "alive") {
      const { resourceVersion } = event.object.metadata;
      if (isLater(resourceVersion, latest)) latest = resourceVersion;
      if (event.type === "applied") apply(event.object);
      else remove(event.object);
    }
    Object.assign(state, { alive: true, message: "watching" });
    onChange();
  }
}

/** Turns a complete list into single changes: objects that are not in it are removed. */
function eachOf<T extends KubeObject>(set: (object: T) => void, unset: (object: T) => void) {
  const known = new Map<string, T>();
  const apply = (object: T) => {
    known.set(objectKey(object), object);
    set(object);
  };
  const remove = (object: T) => {
    known.delete(objectKey(object));
    unset(object);
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
