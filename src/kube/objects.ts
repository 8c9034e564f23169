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

/** Prepares an object for keeping: removes `managedFields`, often half of it, and sets its kind. */
export function tidy<T extends KubeObject>(object: T, resource: KubeResource): Identified<T> {
  delete (object.metadata as { managedFields?: unknown }).managedFields;
  object.apiVersion ??= apiVersionOf(resource);
  object.kind ??= resource.kind;
  return object as Identified<T>;
}

/** Returns `namespace/name`, or `name` for objects without a namespace. */
export function objectKey({ metadata }: KubeObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : `${metadata?.name}`;
}
