import { isDeepStrictEqual } from "node:util";
import { isObject } from "./objects.ts";

/** A merge patch (RFC 7386): objects are merged, null removes a field, any other value replaces it. */
export type MergePatch = { [field: string]: unknown };

/** Returns the merge patch from one object to another; undefined if they are equal. Lists are replaced whole, undefined means absent. */
export function mergePatch(from: object, to: object): MergePatch | undefined {
  const [before, after] = [from as MergePatch, to as MergePatch];
  const patch: MergePatch = {};
  for (const [field, old] of Object.entries(before)) {
    if (old !== undefined && after[field] === undefined) patch[field] = null;
  }
  for (const [field, value] of Object.entries(after)) {
    const old = before[field];
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[field] = isObject(old) && isObject(value) ? mergePatch(old, value) : value;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
