/** The objects that sets are planned from: a plan never repeats a write that succeeded, since its answer counts at once. */
import { isDeepStrictEqual } from "node:util";
import type { Budget } from "../api/placement/placement.ts";
import { appKey } from "../api/names.ts";
import { ObjectStore } from "../kube/object-store.ts";
import type { App, AppSet, Meta, Revision } from "./types.ts";

export interface Stored {
  metadata: Meta;
}

/** By `namespace/name`, and by the uid of their controller or `freeIn` their namespace. */
export interface Store {
  sets: ObjectStore<AppSet>;
  apps: ObjectStore<App>;
  revisions: ObjectStore<Revision>;
  /** By `namespace/name`. */
  budgets: Map<string, Budget>;
}

export function keyOf({ metadata }: Stored): string {
  return appKey(metadata.namespace, metadata.name);
}

/** The group of the objects in a namespace that have no controller. */
export function freeIn(namespace: string): string {
  return `free in ${namespace}`;
}

function controllerOf({ metadata: { ownerReferences = [] } }: Stored) {
  return ownerReferences.find(({ controller }) => controller);
}

function storeOf<T extends Stored>(onChange: (now: T | undefined, before: T | undefined) => void) {
  return new ObjectStore<T>({
    idOf: (object) => ({ ...object.metadata, key: keyOf(object) }),
    groupOf: (object) => controllerOf(object)?.uid ?? freeIn(object.metadata.namespace),
    onChange,
  });
}

/** Creates the stores; `onSet` is called with the key of a set that something may have changed for. */
export function createStore(onSet: (key: string) => void): Store {
  const sets = storeOf<AppSet>((now, before) => onSet(keyOf((now ?? before)!)));
  const ownerKey = (object: Stored) => {
    const owner = controllerOf(object);
    return owner && appKey(object.metadata.namespace, owner.name);
  };
  /** An object without a controller may belong to any set of its namespace, or have a name that one wants. */
  const notify = (object: Stored) => {
    const key = ownerKey(object);
    if (key) onSet(key);
    else for (const set of sets.values()) if (isRelated(set, object)) onSet(keyOf(set));
  };
  return {
    sets,
    apps: storeOf<App>((now, before) => {
      if (now && before && isSame(now, before)) return;
      if (now) notify(now);
      if (before && (!now || ownerKey(now) !== ownerKey(before))) notify(before);
    }),
    revisions: storeOf<Revision>((now, before) => notify((now ?? before)!)),
    budgets: new Map(),
  };
}

function isRelated({ metadata }: AppSet, object: Stored): boolean {
  return metadata.namespace === object.metadata.namespace &&
    object.metadata.name.startsWith(`${metadata.name}-`);
}

/** Most reports of agents bring only new usage, which `slim` has removed. */
function isSame({ metadata: a, ...now }: App, { metadata: b, ...before }: App): boolean {
  return isDeepStrictEqual({ ...now, a: { ...a, resourceVersion: "" } }, {
    ...before,
    a: { ...b, resourceVersion: "" },
  });
}
