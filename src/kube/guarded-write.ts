/**
 * Reads and writes single objects.
 *
 * Guarantees: a patch, a replacement and a deletion carry the uid and resourceVersion that the decision was based on, so that any change since then,
 * or another object of the same name, rejects them. A 200 may be the page of a proxy: only an object of this kind counts as an answer.
 * Every request ends within 10 s, unless other options say so, with an object or with a KubeError.
 */
import { sleep } from "../lib/sleep.ts";
import type { KubeClient, KubeRequest } from "./client/client.ts";
import { hasStatus, isOutdated, KubeError } from "./kube-error.ts";
import { objectProblem } from "./objects.ts";
import { type KubeResource, type ObjectRef, resourcePath } from "./resources.ts";
import type { Identified, KubeObject, ObjectMeta } from "./wire.ts";

/** What a write is based on. Without a resourceVersion, any version of the object with this uid; without a uid, any object. */
export interface Based extends ObjectRef {
  uid?: string;
  resourceVersion?: string;
}

type RequestOptions = Partial<
  Pick<KubeRequest, "contentType" | "priority" | "query" | "signal" | "timeoutMs">
>;

/** The objects of one resource. All methods throw a KubeError. */
export interface Objects<T extends KubeObject> {
  /** Returns undefined if there is no such object. */
  read(ref: ObjectRef, options?: RequestOptions): Promise<Identified<T> | undefined>;
  create(body: KubeObject, options?: RequestOptions): Promise<Identified<T>>;
  /** Writes a whole object, whose metadata names what it is based on. */
  replace(body: KubeObject, options?: RequestOptions): Promise<Identified<T>>;
  /** Sends a merge patch; `subresource` is that of `based`. */
  patch(based: Based, change: object, options?: RequestOptions): Promise<Identified<T>>;
  /** Sends a JSON patch, which tests by itself what it is based on. */
  patchTested(ref: ObjectRef, operations: object[]): Promise<Identified<T>>;
  /** Returns the object if its finalizers keep it for now. */
  remove(based: Based, options?: { gracePeriodSeconds?: number }): Promise<Identified<T> | undefined>;
}

export function objectsOf<T extends KubeObject>(
  client: KubeClient,
  resource: KubeResource,
  defaults: RequestOptions = {},
): Objects<T> {
  const send = (request: KubeRequest) => client.request<T>({ timeoutMs: 10_000, ...defaults, ...request });
  const ask = async (request: KubeRequest) => {
    const object = await send(request);
    const problem = objectProblem(object, { resource });
    if (!problem) return object as Identified<T>;
    const { method = "GET", path } = request;
    const url = client.access.server.origin + path;
    throw new KubeError(`not a ${resource.kind}: ${problem}`, { method, url, reason: "BadAnswer" });
  };
  const pathOf = (ref: ObjectRef) => resourcePath(resource, ref);
  return {
    read: (ref, options) =>
      ask({ path: pathOf(ref), ...options }).catch((error) => {
        if (!hasStatus(error, 404)) throw error;
        return undefined;
      }),
    create: (body, options) =>
      ask({ method: "POST", path: pathOf({ namespace: body.metadata?.namespace }), body, ...options }),
    replace: (body, options) => ask({ method: "PUT", path: pathOf(body.metadata ?? {}), body, ...options }),
    patch({ uid, resourceVersion, ...ref }, change, options) {
      const metadata = { ...(change as KubeObject).metadata, uid, resourceVersion };
      return ask({ method: "PATCH", path: pathOf(ref), body: { ...change, metadata }, ...options });
    },
    patchTested: (ref, body) =>
      ask({ method: "PATCH", path: pathOf(ref), body, contentType: "application/json-patch+json" }),
    async remove({ uid, resourceVersion, ...ref }, options) {
      const preconditions = { uid, resourceVersion };
      const body = { apiVersion: "v1", kind: "DeleteOptions", ...options, preconditions };
      const object = await send({ method: "DELETE", path: pathOf(ref), body });
      const metadata: ObjectMeta & { deletionTimestamp?: string } = object.metadata ?? {};
      return metadata.deletionTimestamp && metadata.uid === uid ? object as Identified<T> : undefined;
    },
  };
}

/** Conflicts in a row after which a write fails: another client writes all the time, or the server means something else by it. */
const maxConflicts = 4;

/**
 * Writes what follows from the newest version: whenever the object has changed since `known`, it is read again. `write` gets undefined if
 * there is no object. Throws the error of the last attempt.
 */
export async function writeNewest<Known, Result>(
  known: Known | undefined,
  { read, write, signal }: {
    read: () => Promise<Known | undefined>;
    write: (known: Known | undefined) => Promise<Result>;
    signal?: AbortSignal;
  },
): Promise<Result> {
  let newest = known ?? await read();
  for (let conflicts = 0;; conflicts++) {
    try {
      return await write(newest);
    } catch (error) {
      if (!isOutdated(error) || conflicts >= maxConflicts || signal?.aborted) throw error;
      if (conflicts > 0) await sleep(50 * conflicts, signal);
      newest = await read();
    }
  }
}
