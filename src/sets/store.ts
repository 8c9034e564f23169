/**
 * The objects that sets are planned from.
 *
 * Guarantees: what this process wrote is never replaced by something older, so a plan never repeats a write that succeeded: answers
 * of the API server are applied at once, and older versions that a watch or a list brings later are ignored. An object that was
 * deleted does not come back by a late event.
 */
import { isDeepStrictEqual } from "node:util";
import { appKey } from "../api/names.ts";
import { isLater } from "../kube/resource-version.ts";
import type { App, AppSet, Meta, Revision } from "./types.ts";

interface Stored {
  metadata: Meta;
}

/** Objects of one kind, by `namespace/name` and by the uid of their controller. */
export class ObjectStore<T extends Stored> {
  readonly #all = new Map<string, T>();
  readonly #byOwner = new Map<string, Map<string, T>>();
  /** The uids of deleted objects whose deletion the watch has not shown yet. */
  readonly #deleted = new Set<string>();
  readonly #onChange: (now: T | undefined, before: T | undefined) => void;

  constructor(onChange: (now: T | undefined, before: T | undefined) => void = () => {}) {
    this.#onChange = onChange;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#all.get(appKey(namespace, name));
  }

  values(): Iterable<T> {
    return this.#all.values();
  }

  get size(): number {
    return this.#all.size;
  }

  /** The objects whose controller has this uid; `free` are those without one in a namespace. */
  ownedBy(uid: string): Iterable<T> {
    return this.#byOwner.get(uid)?.values() ?? [];
  }

  freeIn(namespace: string): Iterable<T> {
    return this.ownedBy(`free in ${namespace}`);
  }

  apply(object: T): void {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const key = appKey(namespace, name);
    const before = this.#all.get(key);
    if (this.#deleted.has(uid)) return;
    if (before && !isLater(resourceVersion, before.metadata.resourceVersion)) return;
    this.#put(key, object, before);
  }

  /** The watch has shown a deletion, or the server says that the object is gone. */
  remove({ namespace, name, uid }: Pick<Meta, "namespace" | "name" | "uid">, { seen = true } = {}): void {
    const key = appKey(namespace, name);
    const before = this.#all.get(key);
    if (seen) this.#deleted.delete(uid);
    else this.#deleted.add(uid);
    if (before?.metadata.uid === uid) this.#put(key, undefined, before);
  }

  /**
   * Takes over a complete list of what `isListed` selects. What was written after its version stays, unless the server was `rewound` to
   * a backup: then what is known may never have happened.
   */
  replace(
    objects: readonly T[],
    version: string,
    { isListed = () => true, rewound = false }: { isListed?: (object: T) => boolean; rewound?: boolean } = {},
  ): void {
    if (rewound) {
      this.#deleted.clear();
      for (const { metadata } of [...this.#all.values()]) this.remove(metadata);
    }
    const listed = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const object of [...this.#all.values()]) {
      const { uid, resourceVersion } = object.metadata;
      if (isListed(object) && !listed.has(uid) && !isLater(resourceVersion, version)) {
        this.remove(object.metadata);
      }
    }
    for (const uid of this.#deleted) if (!listed.has(uid)) this.#deleted.delete(uid);
    for (const object of objects) this.apply(object);
  }

  #put(key: string, object: T | undefined, before: T | undefined): void {
    if (before) this.#byOwner.get(ownerOf(before))?.delete(key);
    if (object) {
      this.#all.set(key, object);
      const owner = ownerOf(object);
      const siblings = this.#byOwner.get(owner) ?? new Map<string, T>();
      this.#byOwner.set(owner, siblings.set(key, object));
    } else this.#all.delete(key);
    if (before && this.#byOwner.get(ownerOf(before))?.size === 0) this.#byOwner.delete(ownerOf(before));
    this.#onChange(object, before);
  }
}

function ownerOf({ metadata: { namespace, ownerReferences = [] } }: Stored): string {
  return ownerReferences.find(({ controller }) => controller)?.uid ?? `free in ${namespace}`;
}

export interface Store {
  sets: ObjectStore<AppSet>;
  apps: ObjectStore<App>;
  revisions: ObjectStore<Revision & Stored>;
}

/** Creates the stores; `onSet` is called with the key of a set that something may have changed for. */
export function createStore(onSet: (key: string) => void): Store {
  const keyOf = ({ metadata }: Stored) => appKey(metadata.namespace, metadata.name);
  const sets = new ObjectStore<AppSet>((now, before) => onSet(keyOf((now ?? before)!)));
  const ownerKey = ({ metadata: { namespace, ownerReferences = [] } }: Stored) => {
    const owner = ownerReferences.find(({ controller }) => controller);
    return owner && appKey(namespace, owner.name);
  };
  /** An object without a controller may belong to any set of its namespace, or have a name that one wants. */
  const tell = (object: Stored) => {
    const key = ownerKey(object);
    if (key) onSet(key);
    else for (const set of sets.values()) if (isRelated(set, object)) onSet(keyOf(set));
  };
  return {
    sets,
    apps: new ObjectStore<App>((now, before) => {
      if (now && before && isSame(now, before)) return;
      if (now) tell(now);
      if (before && (!now || ownerKey(now) !== ownerKey(before))) tell(before);
    }),
    revisions: new ObjectStore<Revision & Stored>((now, before) => tell((now ?? before)!)),
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
