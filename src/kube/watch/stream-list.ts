/**
 * Lists a resource by a watch that starts with all objects (`sendInitialEvents`): one request instead of a list and a watch, served
 * from the API server's cache, one object at a time instead of a page.
 *
 * Guarantees: the result is complete and checked object by object, as that of `listAll`: it exists only if the server has marked the
 * end of the objects. A server that cannot do this costs at most `patience`. What `filter` and `slim` leave out is
 * dropped as it arrives.
 *
 * Servers that cannot: before 1.27 they reject `resourceVersionMatch` in a watch, later ones the parameter unless their feature gate
 * is on (the default since 1.34). With an etcd before 3.4.31 or 3.5.13 they accept the watch and send an error. Something in between
 * may drop the parameters, then the end is never marked: an ordinary bookmark or `patience` shows it.
 */
import type { KubeClient, Query } from "../client/client.ts";
import { KubeError, wasRejected } from "../kube-error.ts";
import { type Expected, objectKey, objectProblem, select, type Selection } from "../objects.ts";
import { resourcePath } from "../resources.ts";
import type { Identified, KubeObject } from "../wire.ts";
import { isSelectorRefusal } from "./field-selector.ts";
import type { Listed } from "./list.ts";
import { openWatch, type WatchLimits, type WatchLine, type WatchStream } from "./watch-stream.ts";

export interface StreamListOptions<T> extends Expected, Selection<T> {
  query: Query;
  /** How long the server may be silent, and how long the list may take in all. */
  patience: WatchLimits;
  signal: AbortSignal;
}

/** `stream` is the watch that follows the list. */
export type StreamedList<T extends KubeObject> = Listed<T> & { stream: WatchStream };

/** Returns undefined if the server cannot do this. Throws a KubeError if it does not answer, or the connection breaks before the end of the list. */
export async function streamList<T extends KubeObject>(
  client: KubeClient,
  options: StreamListOptions<T>,
): Promise<StreamedList<T> | undefined> {
  const { resource, namespace, patience, signal } = options;
  const path = resourcePath(resource, { namespace });
  const query = { ...options.query, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
  const fault = (reason: string, message: string) =>
    new KubeError(message, { method: "GET", url: client.access.server.origin + path, reason });
  let stream: WatchStream;
  try {
    stream = await openWatch(client, { path, query, ...patience, signal });
  } catch (error) {
    if (isRejection(error)) return undefined;
    throw error;
  }
  const items = new Map<string, Identified<T>>();
  let isComplete = false;
  try {
    for (;;) {
      const line = await stream.next();
      if (line === "ended") throw fault("Unreachable", "the watch ended before its list was complete");
      if (line === "silent" || line === "due") return undefined;
      const collected = collectInitial(items, line, options);
      if (collected.kind === "unsupported") return undefined;
      if (collected.kind === "invalid") throw fault("BadAnswer", `the watch sent ${collected.why}`);
      isComplete = collected.kind === "end";
      if (collected.kind === "end") {
        const { resourceVersion } = collected;
        return { items: [...items.values()], resourceVersion, stream };
      }
    }
  } finally {
    if (!isComplete) stream.stop();
  }
}

export type Collected =
  | { kind: "more" }
  /** `items` are all objects, as they are at this version. */
  | { kind: "end"; resourceVersion: string }
  | { kind: "invalid"; why: string }
  | { kind: "unsupported" };

/** Takes one line of a list that is streamed into `items`. Changes made meanwhile arrive before its end too. */
function collectInitial<T extends KubeObject>(
  items: Map<string, Identified<T>>,
  { type, object }: WatchLine,
  options: Expected & Selection<T>,
): Collected {
  if (type === "ERROR") return { kind: "unsupported" };
  if (type === "BOOKMARK") return takeBookmark(object as Bookmark);
  const why = objectProblem(object, options);
  if (why) return { kind: "invalid", why };
  const key = objectKey(object as T);
  const selected = type === "DELETED" ? undefined : select(object as T, options);
  if (selected) items.set(key, selected);
  else items.delete(key);
  return { kind: "more" };
}

type Bookmark = { metadata?: { resourceVersion?: unknown; annotations?: Record<string, unknown> } };

function takeBookmark({ metadata }: Bookmark): Collected {
  // An ordinary bookmark comes after the objects, so their end was never marked.
  if (metadata?.annotations?.["k8s.io/initial-events-end"] !== "true") return { kind: "unsupported" };
  const { resourceVersion } = metadata;
  return typeof resourceVersion === "string" && resourceVersion !== "" && resourceVersion !== "0"
    ? { kind: "end", resourceVersion }
    : { kind: "invalid", why: `a bookmark with resourceVersion ${JSON.stringify(resourceVersion)}` };
}

/** A field selector that the server lacks is no answer to the question whether it can stream. */
function isRejection(error: unknown): error is KubeError {
  return wasRejected(error) && error.status !== 404 && !isSelectorRefusal(error);
}
