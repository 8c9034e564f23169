/** Follows one resource with a list and a watch, and passes it on: what controllers know of the cluster. */
import type { Logger } from "../lib/log.ts";
import type { KubeClient } from "./client/client.ts";
import type { FollowerState } from "./controller.ts";
import { objectKey } from "./objects.ts";
import { isEarlier, isLater } from "./resource-version.ts";
import type { KubeResource } from "./resources.ts";
import { followList, type FollowOptions } from "./watch/watch.ts";
import type { Identified, KubeObject } from "./wire.ts";

/** Where the objects go. */
export interface Sink<T extends KubeObject> {
  resource: KubeResource;
  options?: Partial<FollowOptions<T>>;
  /** How long the API server may take to accept a watch; by default the client's timeout. */
  openMs?: number;
  /** A complete list of the snapshot `version`. `rewound`: it is older than what was received before. */
  replace(items: Identified<T>[], rewound: boolean, version: string): void;
  apply(object: Identified<T>): void;
  remove(object: Identified<T>): void;
}

/** Rare: the watch is reliable, and a complete list of a large cluster is expensive. */
const relistMs = 1_800_000;
/** Runs until the signal aborts, and keeps `state` up to date. */
export async function followInto<T extends KubeObject>(
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
      replace(event.items, rewound, event.resourceVersion);
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
export function eachOf<T extends KubeObject>(set: (object: T) => void, unset: (object: T) => void) {
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
