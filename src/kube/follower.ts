/**
 * Follows resources with lists and watches, and passes them on: what controllers know of the cluster. A resource that several
 * controllers of a process need is listed and watched once.
 */
import type { Logger } from "../lib/log.ts";
import type { KubeClient } from "./client/client.ts";
import type { FollowerState } from "./controller.ts";
import { hasStatus } from "./kube-error.ts";
import { objectKey, select } from "./objects.ts";
import type { KubeResource } from "./resources.ts";
import { followList, type FollowOptions } from "./watch/watch.ts";
import type { Identified, KubeObject } from "./wire.ts";

/** Where the objects go. */
export interface Sink<T extends KubeObject> {
  resource: KubeResource;
  options?: Partial<FollowOptions<T>>;
  /** A server that lacks the resource, or does not allow to read it, counts as one that has none. */
  optional?: boolean;
  /** How long the API server may take to accept a watch; by default the client's timeout. */
  openMs?: number;
  /** A complete list of the snapshot `version`. `rewound`: it is older than what was received before. */
  replace(items: Identified<T>[], rewound: boolean, version: string): void;
  apply(object: Identified<T>): void;
  remove(object: Identified<T>): void;
}

/** What the controllers of a process follow. They join before it runs. */
export interface Hub {
  /** Returns the state of the resource, which is kept up to date; `onChange` is called after each change. */
  join<T extends KubeObject>(sink: Sink<T>, onChange: () => void): FollowerState;
  /** Follows everything until the signal aborts; further calls wait for the same end. */
  run(signal: AbortSignal): Promise<void>;
}

/** What one controller follows. */
export interface Followers {
  readonly states: readonly FollowerState[];
  /** All resources have been listed. */
  readonly ready: boolean;
  /** Reports whether the watch of this resource is up to date. */
  sees(resource: KubeResource): boolean;
  follow<T extends KubeObject>(sink: Sink<T>): void;
  run(signal: AbortSignal): Promise<void>;
}

/** Rare: the watch is reliable, and a complete list of a large cluster is expensive. */
const relistMs = 1_800_000;

/**
 * For Leases that agents renew every 10 s: a watch that is silent for longer is checked before nodes count as lost. Until then a dead
 * connection looks like silent nodes, so with the time to open a watch it must stay well below the 40 s of a Lease.
 */
export const leaseTimes = { silenceMs: 15_000, openMs: 10_000 };

export function createHub(client: KubeClient, log: Logger): Hub {
  // deno-lint-ignore no-explicit-any
  const shared = new Map<string, { sinks: Sink<any>[]; state: FollowerState; listeners: (() => void)[] }>();
  let running: Promise<unknown> | undefined;
  return {
    join(sink, onChange) {
      const { resource, options: { filter: _, slim: __, ...options } = {} } = sink;
      const key = JSON.stringify([resource, options]);
      const state = { name: resource.plural, listed: false, alive: false, message: "not listed yet" };
      const one = shared.get(key) ?? { sinks: [], state, listeners: [] };
      one.sinks.push(sink);
      one.listeners.push(onChange);
      shared.set(key, one);
      return one.state;
    },
    async run(signal) {
      running ??= Promise.all([...shared.values()].map(({ sinks, state, listeners }) => {
        const notify = () => listeners.forEach((onChange) => onChange());
        return followInto(client, combine(sinks), state, log, notify, signal);
      }));
      await running;
    },
  };
}

export function createFollowers(hub: Hub, onChange: () => void = () => {}): Followers {
  const states: FollowerState[] = [];
  return {
    states,
    get ready() {
      return states.every(({ listed }) => listed);
    },
    sees: ({ plural }) => states.some(({ name, alive }) => name === plural && alive),
    follow: (sink) => void states.push(hub.join(sink, onChange)),
    run: (signal) => hub.run(signal),
  };
}

/** Follows once for all sinks: what each of them keeps of an object travels as its share, and the rest is dropped. */
function combine<T extends KubeObject>(sinks: readonly Sink<T>[]): Sink<T> {
  const [first] = sinks as [Sink<T>];
  if (sinks.length === 1) return first;
  type Shared = { metadata: T["metadata"]; shares: (Identified<T> | undefined)[] };
  const sharesOf = (object: T) => (object as unknown as Shared).shares;
  const slim = (object: T) => {
    const shares = sinks.map(({ resource, options }) => select(object, { resource, ...options }));
    return { metadata: object.metadata, shares } satisfies Shared as unknown as T;
  };
  return {
    ...first,
    options: {
      ...first.options,
      filter: (object) => sinks.some(({ options }) => options?.filter?.(object) ?? true),
      slim,
    },
    replace(items, rewound, version) {
      for (const [at, sink] of sinks.entries()) {
        sink.replace(items.flatMap((item) => sharesOf(item)[at] ?? []), rewound, version);
      }
    },
    apply(object) {
      for (const [at, sink] of sinks.entries()) {
        const share = sharesOf(object)[at];
        if (share) sink.apply(share);
        else sink.remove(object);
      }
    },
    remove: (object) => sinks.forEach((sink) => sink.remove(object)),
  };
}

/** Runs until the signal aborts, and keeps `state` up to date. */
async function followInto<T extends KubeObject>(
  client: KubeClient,
  { resource, options = {}, optional = false, openMs, replace, apply, remove }: Sink<T>,
  state: FollowerState,
  log: Logger,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const stream: KubeClient["stream"] = (request) => client.stream({ timeoutMs: openMs, ...request });
  for await (
    const event of followList<T>({ ...client, stream }, { resource, relistMs, ...options }, signal)
  ) {
    if (event.type === "problem") {
      if (optional && (hasStatus(event.error, 403) || hasStatus(event.error, 404))) {
        if (!state.listed) {
          log.warn(`cannot watch ${resource.plural}: they are ignored`, { error: event.error });
        }
        Object.assign(state, { listed: true, alive: true, message: event.error.message });
        continue;
      }
      Object.assign(state, { alive: false, message: event.error.message });
      log.warn(`cannot watch ${resource.plural}; retrying`, { error: event.error });
      continue;
    }
    if (event.type === "listed") {
      const { items, rewound = false, resourceVersion } = event;
      if (rewound) {
        log.warn(
          `the API server returned an older list of ${resource.plural} than before: it may have been restored from a backup`,
        );
      }
      replace(items, rewound, resourceVersion);
      state.listed = true;
    } else if (event.type === "applied") apply(event.object);
    else if (event.type === "deleted") remove(event.object);
    Object.assign(state, { alive: true, message: "watching" });
    onChange();
  }
}

/** Turns a complete list into single changes: objects that are not in it are removed. */
export function eachOf<T extends KubeObject>(set: (object: T) => void, unset: (object: KubeObject) => void) {
  /** Without the rest: a Node names all images that it has. */
  const known = new Map<string, KubeObject>();
  const apply = (object: T) => {
    const { namespace, name, uid } = object.metadata ?? {};
    known.set(objectKey(object), { metadata: { namespace, name, uid } });
    set(object);
  };
  const remove = (object: KubeObject) => {
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
