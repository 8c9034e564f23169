import { isDeepStrictEqual } from "node:util";

/** A merge patch (RFC 7386): what it names replaces, objects are merged, null removes. */
export type MergePatch = { [field: string]: unknown };

/** The merge patch from one object to another; undefined where they are equal. Lists are replaced whole, undefined is absent. */
export function mergePatch(from: object, to: object): MergePatch | undefined {
  const [before, after] = [from as MergePatch, to as MergePatch];
  const patch: MergePatch = {};
  for (const [field, old] of Object.entries(before)) {
    if (old !== undefined && after[field] === undefined) patch[field] = null;
  }
  for (const [field, value] of Object.entries(after)) {
    const old = before[field];
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[field] = isPlainObject(old) && isPlainObject(value) ? mergePatch(old, value) : value;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** True for `{…}`, not for lists and null. */
export function isPlainObject(value: unknown): value is MergePatch {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
