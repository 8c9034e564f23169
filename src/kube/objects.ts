/** Checks on objects from outside, before they are used. */
import { apiVersionOf, type KubeResource } from "./resources.ts";
import type { Identified, KubeObject } from "./wire.ts";

export interface Expected {
  resource: KubeResource;
  /** If only one was requested. */
  namespace?: string;
}

/**
 * Returns what is wrong with an object, or undefined. Lists of built-in kinds omit `kind` and `apiVersion` of their items, so
 * a missing value is accepted and a different one is not.
 */
export function objectProblem(object: unknown, { resource, namespace }: Expected): string | undefined {
  if (typeof object !== "object" || object === null) return `an object is ${JSON.stringify(object)}`;
  const { kind, apiVersion, metadata } = object as KubeObject;
  if (kind !== undefined && kind !== resource.kind) return `an object has kind ${JSON.stringify(kind)}`;
  if (apiVersion !== undefined && apiVersion !== apiVersionOf(resource)) {
    return `an object has apiVersion ${JSON.stringify(apiVersion)}`;
  }
  if (!isText(metadata?.name)) return "an object has no name";
  const named = `object ${JSON.stringify(metadata.name)}`;
  if (!isText(metadata.uid)) return `${named} has no uid`;
  if (!isText(metadata.resourceVersion)) return `${named} has no resourceVersion`;
  if (resource.namespaced && !isText(metadata.namespace)) return `${named} has no namespace`;
  if (namespace && metadata.namespace !== namespace) {
    return `${named} is in namespace ${JSON.stringify(metadata.namespace)}`;
  }
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** What is selected of a resource: which objects, and what of them. A list holds all of that until it is complete. */
export interface Selection<T> {
  filter?: (object: T) => boolean;
  /** Gets the object without `managedFields`, and as it came. */
  slim?: (object: T, whole: T) => T;
}

/** Returns what is selected of an object; undefined if nothing is. */
export function select<T extends KubeObject>(
  object: T,
  { resource, filter, slim }: Selection<T> & { resource: KubeResource },
): Identified<T> | undefined {
  if (filter && !filter(object)) return undefined;
  const tidied = tidy(object, resource);
  return slim ? slim(tidied, object) as Identified<T> : tidied;
}

/** Returns the object without `managedFields`, often half of it, and with its kind. */
export function tidy<T extends KubeObject>(object: T, resource: KubeResource): Identified<T> {
  const { managedFields: _, ...metadata } = object.metadata as { managedFields?: unknown };
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object, metadata } as Identified<T>;
}

/** Returns `namespace/name`, or `name` for objects without a namespace. */
export function objectKey({ metadata }: KubeObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : `${metadata?.name}`;
}
