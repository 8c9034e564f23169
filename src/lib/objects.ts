import { isDeepStrictEqual } from "node:util";

/** Reports whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value of a key that a user chose. Members of every object, such as `constructor`, do not count. */
export function ownValue<T>(values: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** Returns a copy without the fields that are null. Clients in Go send `creationTimestamp: null`. */
export function withoutNulls(fields: { [name: string]: unknown }): { [name: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Returns a copy without the fields that are undefined, which stays equal when written to JSON and read back. */
export function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** Returns a copy with these fields alone; those that are undefined stay absent. */
export function pick<T extends object, Field extends keyof T>(
  fields: T,
  names: readonly Field[],
): Pick<T, Field> {
  const present = names.filter((name) => fields[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, fields[name]])) as Pick<T, Field>;
}

/** A merge patch (RFC 7386): objects are merged, null removes a field, any other value replaces it. */
export type MergePatch = { [field: string]: unknown };

/** Returns the target with a merge patch applied; both stay unchanged. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  // A map, since an assignment to a field named __proto__ would do something else.
  const fields = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) fields.delete(field);
    else if (value !== undefined) fields.set(field, applyMergePatch(fields.get(field), value));
  }
  return Object.fromEntries(fields);
}

/** Returns the merge patch from one object to another; undefined if they are equal. Lists are replaced whole, undefined means absent. */
export function mergePatch(from: object, to: object): MergePatch | undefined {
  const [before, after] = [from as MergePatch, to as MergePatch];
  const patch: MergePatch = {};
  for (const [field, old] of Object.entries(before)) {
    if (old !== undefined && ownValue(after, field) === undefined) patch[field] = null;
  }
  for (const [field, value] of Object.entries(after)) {
    const old = ownValue(before, field);
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[field] = isObject(old) && isObject(value) ? mergePatch(old, value) : value;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Reports whether a JSON value has objects or lists within each other beyond this depth. Does not recurse: the value may be hostile. */
export function isDeeperThan(most: number, value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    level = level.filter((part) => typeof part === "object" && part !== null);
    if (depth >= most && level.length > 0) return true;
    level = level.flatMap((part) => Object.values(part as object));
  }
  return false;
}
