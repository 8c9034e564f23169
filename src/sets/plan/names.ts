/** The names and hashes of what a set creates. */
import { createHash } from "node:crypto";
import type { NCAppSetSpec } from "../../api/types.ts";
import { isObject } from "../../lib/objects.ts";

const maxLength = 253;

/** Returns the name of the set's app on a node, or with this ordinal: `web-node1`, `web-0`. */
export function appName(set: string, which: string | number): string {
  return shortened(`${set}-${which}`);
}

/** Returns the name of a revision: `web-5d8f0a9c1b`. */
export function revisionName(set: string, hash: string): string {
  return shortened(`${set}-${hash}`);
}

/** Reports whether each app of the set belongs to one node. Otherwise they have numbers. */
export function isPinned({ replicas, job }: Pick<NCAppSetSpec, "replicas" | "job">): boolean {
  return (job ? job.completions : replicas) === undefined;
}

/** Returns the ordinal in the name of an app; undefined if the name is not one that the set gives. */
export function ordinalOf(set: string, name: string): number | undefined {
  const end = name.slice(set.length + 1);
  return name.startsWith(`${set}-`) && /^(0|[1-9]\d{0,8})$/.test(end) ? Number(end) : undefined;
}

/** Returns a short hash of a value, the same for objects whose fields are in another order. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 10);
}

/** Returns JSON with sorted fields, without those that are undefined. */
export function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, part) =>
      isObject(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0))
        : part,
  );
}

/** A name that is too long ends with the hash of the whole. */
function shortened(name: string): string {
  if (name.length <= maxLength) return name;
  return `${name.slice(0, maxLength - 11).replace(/[.-]+$/, "")}-${hashOf(name)}`;
}
