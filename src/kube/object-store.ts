/**
 * The objects of a resource, as lists, watches and the answers to own requests show them.
 *
 * Guarantees: what this process wrote is never replaced by something older: answers count at once, and older versions that a watch or a
 * list brings later are ignored. An object that was deleted does not come back, neither by a late event nor by the late answer to a
 * change of it. Only a server that was restored from a backup goes back in time.
 */
import { isLater } from "./resource-version.ts";

export interface ObjectId {
  /** One object at a time has it, such as its namespace and name. */
  key: string;
  uid: string;
  resourceVersion: string;
}

export interface ObjectStoreOptions<T> {
  idOf(object: T): ObjectId;
  /** Objects are also found by this, such as their owner. */
  groupOf?(object: T): string;
  /** Called after each change, with what was there before: the same object, or nothing. */
  onChange?(now: T | undefined, before: T | undefined): void;
}

export class ObjectStore<T> {
  readonly #options: ObjectStoreOptions<T>;
  readonly #objects = new Map<string, T>();
  readonly #groups = new Map<string, Map<string, T>>();
  /** The uids of objects that are gone, which the watch has not shown yet. */
  readonly #gone = new Set<string>();

  constructor(options: ObjectStoreOptions<T>) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  get size(): number {
    return this.#objects.size;
  }

  /** The objects of a group. */
  group(name: string): Iterable<T> {
    return this.#groups.get(name)?.values() ?? [];
  }

  /** Applies an object that the server has: from a list or a watch, or because it was created or read. */
  apply(object: T): void {
    const { key, uid, resourceVersion } = this.#options.idOf(object);
    const before = this.#objects.get(key);
    // For example the watch's echo of every write, which arrives after the answer.
    if (before && !isLater(resourceVersion, this.#options.idOf(before).resourceVersion)) return;
    if (!this.#gone.has(uid)) this.#put(object);
  }

  /** Applies the answer to a change of a known object, which the watch may have overtaken: with a newer version, or with its deletion. */
  applyAnswer(object: T): void {
    if (this.#objects.has(this.#options.idOf(object).key)) this.apply(object);
  }

  /** The watch has shown that the object is gone. The uid protects one that was created again under its name. */
  remove({ key, uid }: Pick<ObjectId, "key" | "uid">): void {
    this.#gone.delete(uid);
    const object = this.#objects.get(key);
    if (object && this.#options.idOf(object).uid === uid) this.#drop(object);
  }

  /** The answer to a request has shown that the object is gone: the watch may yet bring earlier versions. */
  forget({ key, uid }: Pick<ObjectId, "key" | "uid">): void {
    const object = this.#objects.get(key);
    if (!object || this.#options.idOf(object).uid !== uid) return;
    this.#gone.add(uid);
    this.#drop(object);
  }

  /**
   * Applies a complete list of what `isListed` selects. What was written after its version stays, unless the server was `rewound` to a
   * backup: then what is known may never have happened.
   */
  replace(
    objects: readonly T[],
    version: string,
    { isListed, rewound = false }: { isListed?: (object: T) => boolean; rewound?: boolean } = {},
  ): void {
    const { idOf } = this.#options;
    const listed = new Set(objects.map((object) => idOf(object).uid));
    for (const object of [...this.#objects.values()]) {
      const { uid, resourceVersion } = idOf(object);
      const isNewer = !rewound && isLater(resourceVersion, version);
      if (!listed.has(uid) && !isNewer && (!isListed || isListed(object))) this.#drop(object);
    }
    for (const uid of this.#gone) if (rewound || !isListed && !listed.has(uid)) this.#gone.delete(uid);
    for (const object of objects) {
      if (rewound) this.#put(object);
      else this.apply(object);
    }
  }

  /** Replaces a known object by another view of the same version. No listener is called. */
  revise(object: T): void {
    const { key } = this.#options.idOf(object);
    this.#objects.set(key, object);
    this.#groups.get(this.#options.groupOf?.(object) ?? "")?.set(key, object);
  }

  #put(object: T): void {
    const { idOf, groupOf, onChange } = this.#options;
    const { key, uid } = idOf(object);
    let before = this.#objects.get(key);
    if (before && idOf(before).uid !== uid) before = this.#drop(before);
    if (before) this.#leaveGroup(before);
    this.#objects.set(key, object);
    if (groupOf) {
      const group = this.#groups.get(groupOf(object)) ?? new Map<string, T>();
      this.#groups.set(groupOf(object), group.set(key, object));
    }
    onChange?.(object, before);
  }

  #drop(object: T): undefined {
    this.#objects.delete(this.#options.idOf(object).key);
    this.#leaveGroup(object);
    this.#options.onChange?.(undefined, object);
  }

  #leaveGroup(object: T): void {
    const name = this.#options.groupOf?.(object) ?? "";
    const group = this.#groups.get(name);
    group?.delete(this.#options.idOf(object).key);
    if (group?.size === 0) this.#groups.delete(name);
  }
}
