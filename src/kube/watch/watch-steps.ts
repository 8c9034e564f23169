/** The steps of `followList`: each goes from a state to an event, if there is one, and the next state. */
import type { KubeClient } from "../client/client.ts";
import { isExpired, KubeError } from "../kube-error.ts";
import { listAll, type Listed } from "./list.ts";
import { objectKey, objectProblem, select, tidy } from "../objects.ts";
import { isEarlier } from "../resource-version.ts";
import { resourcePath } from "../resources.ts";
import { createBackoff } from "../../lib/backoff.ts";
import { steadyNow } from "../../lib/time.ts";
import { createFieldSelector } from "./field-selector.ts";
import type { FollowOptions, WatchEvent } from "./watch-options.ts";
import { streamList } from "./stream-list.ts";
import { openWatch, type WatchLine, type WatchStream } from "./watch-stream.ts";
import { asStatus, type KubeObject } from "../wire.ts";

/** A watch that the server ended sooner, without a line, counts as failed. */
const shortWatchMs = 1000;

/** The longest delay of the backoff, and what the server may request. */
const longestRetryMs = 30_000;

export type State = Listing | Opening | Reading | Waiting;

interface Listing {
  at: "list";
  /** Where the watch resumes if the list fails. */
  resumeFrom?: string;
}

interface Opening {
  at: "open";
  resourceVersion: string;
  relistAt: number;
}

interface Reading {
  at: "read";
  resourceVersion: string;
  relistAt: number;
  openedAt: number;
  /** A line arrived, so the connection works. */
  healthy: boolean;
  stream: WatchStream;
}

export interface Waiting {
  at: "wait";
  ms: number;
  /** The server gave no answer at all: as soon as it answers any request, the wait ends. */
  untilAnswered: boolean;
  then: State;
}

export interface Step<T extends KubeObject> {
  event?: WatchEvent<T>;
  next: State;
}

/** Creates the steps of one follower. They share the backoff and the keys of reported objects. */
export function createSteps<T extends KubeObject>(
  client: KubeClient,
  options: FollowOptions<T>,
  signal: AbortSignal,
) {
  const { resource, namespace, labelSelector, relistMs = 300_000, relistRetryMs = 30_000 } = options;
  const { silenceMs = 90_000, streamPatience: patience = { silenceMs: 10_000, dueMs: 60_000 } } = options;
  const { rejectedRetryMs = 3_600_000, onRestart = () => {}, now = steadyNow, random = Math.random } =
    options;
  const { backoff = createBackoff({ initialMs: 800, maxMs: longestRetryMs, jitter: 0.5, random }) } = options;
  const selector = createFieldSelector(options.fieldSelector, { retryMs: rejectedRetryMs, now });
  const path = resourcePath(resource, { namespace });
  const asked = { method: "GET", url: client.access.server.origin + path };
  /** Keys of objects that were reported and not deleted since: only these can be reported as deleted. */
  let known = new Set<string>();
  let expiredBefore = false;
  /** The newest version that was received. */
  let latest = "0";
  /** Until then lists are read in pages. */
  let streamAt = options.streaming ? -Infinity : Infinity;

  async function list({ resumeFrom }: Listing): Promise<Step<T>> {
    try {
      const { stream, items, resourceVersion } = await listStreamed() ?? await listPages();
      known = new Set(items.map(objectKey));
      // Spread, so that the agents of a cluster do not all list at the same time.
      const relistAt = now() + relistMs * (0.9 + 0.2 * random());
      const rewound = isEarlier(resourceVersion, latest);
      latest = resourceVersion;
      const event: WatchEvent<T> = { type: "listed", items, resourceVersion, ...(rewound && { rewound }) };
      if (!stream) return { event, next: { at: "open", resourceVersion, relistAt } };
      stream.limit({ silenceMs, dueMs: relistAt - now() });
      backoff.reset();
      expiredBefore = false;
      return {
        event,
        next: { at: "read", resourceVersion, relistAt, openedAt: now(), healthy: true, stream },
      };
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (resumeFrom === undefined) return problem("list", error, { at: "list" });
      const next: State = { at: "open", resourceVersion: resumeFrom, relistAt: now() + relistRetryMs };
      return { event: { type: "problem", during: "list", error, retryInMs: relistRetryMs }, next };
    }
  }

  async function listPages(): Promise<Listed<T> & { stream?: undefined }> {
    return await selector.use((fieldSelector) => listAll(client, { ...options, fieldSelector, signal }));
  }

  /** Resolves to undefined if a list in pages is needed. */
  async function listStreamed() {
    if (now() < streamAt) return undefined;
    // If the connection breaks during the list, pages may pass where a long answer does not.
    streamAt = now() + relistRetryMs;
    const streamed = await selector.use((fieldSelector) =>
      streamList(client, { ...options, query: watchQuery(fieldSelector), patience, signal })
    );
    streamAt = streamed ? -Infinity : now() + rejectedRetryMs;
    return streamed;
  }

  function watchQuery(fieldSelector: string | undefined) {
    const timeoutSeconds = Math.round(300 + 300 * random());
    return { watch: true, allowWatchBookmarks: true, labelSelector, fieldSelector, timeoutSeconds };
  }

  async function open(state: Opening): Promise<Step<T>> {
    const { resourceVersion, relistAt } = state;
    if (now() >= relistAt) return { next: { at: "list", resumeFrom: resourceVersion } };
    const query = { ...watchQuery(selector.current()), resourceVersion };
    try {
      const stream = await openWatch(client, { path, query, silenceMs, dueMs: relistAt - now(), signal });
      const next: State = { at: "read", resourceVersion, relistAt, openedAt: now(), healthy: false, stream };
      return { event: { type: "alive" }, next };
    } catch (error) {
      return afterFault(error, state);
    }
  }

  async function read(state: Reading): Promise<Step<T>> {
    const { resourceVersion, relistAt, stream } = state;
    const reopen: State = { at: "open", resourceVersion, relistAt };
    try {
      const line = await stream.next();
      if (typeof line === "object") return afterLine(line, state);
      if (line === "due") {
        onRestart("relist");
        return { next: { at: "list", resumeFrom: resourceVersion } };
      }
      onRestart(line);
      const lived = state.healthy || now() - state.openedAt >= shortWatchMs;
      if (lived) backoff.reset();
      // No server promises bookmarks, so silence alone is not an error: reopening the watch shows whether there is one.
      if (lived || line === "silent") return { next: reopen };
      return problem("watch", badAnswer("the watch ended at once"), reopen);
    } catch (error) {
      stream.stop();
      return afterFault(error, reopen);
    }
  }

  function afterLine({ type, object }: WatchLine, state: Reading): Step<T> {
    if (type === "ERROR") throw errorEvent(object);
    const problem = type === "BOOKMARK" ? undefined : objectProblem(object, { resource, namespace });
    const resourceVersion = (object as T).metadata?.resourceVersion;
    if (problem || !resourceVersion) {
      throw badAnswer(`the watch sent ${problem ?? "a bookmark without resourceVersion"}`);
    }
    if (!state.healthy) {
      backoff.reset();
      expiredBefore = false;
    }
    latest = resourceVersion;
    return { event: toEvent(type, object as T), next: { ...state, resourceVersion, healthy: true } };
  }

  function toEvent(type: string, object: T): WatchEvent<T> | undefined {
    if (type === "BOOKMARK") return { type: "alive" };
    const key = objectKey(object);
    const selected = type === "DELETED" ? undefined : select(object, options);
    if (selected) {
      known.add(key);
      return { type: "applied", object: selected };
    }
    return known.delete(key) ? { type: "deleted", object: tidy(object, resource) } : undefined;
  }

  /** The connection was refused or broke: resume the watch, or list again, depending on the error. */
  function afterFault(error: unknown, reopen: State): Step<T> {
    if (!(error instanceof KubeError)) throw error;
    // 410 Gone: the server no longer has the version to resume from.
    if (isExpired(error)) {
      onRestart("expired");
      const again = expiredBefore;
      expiredBefore = true;
      // A list that is outdated as soon as it is complete must not be repeated in a tight loop.
      return again ? problem("watch", error, { at: "list" }) : { next: { at: "list" } };
    }
    onRestart("lost");
    // If the resource does not exist, or the answer makes no sense, there is no version to resume from.
    const lost = error.status === 404 || error.status === 400 || error.reason === "BadAnswer";
    return problem("watch", error, lost ? { at: "list" } : reopen);
  }

  function problem(during: "list" | "watch", error: KubeError, then: State): Step<T> {
    // A proxy under repair may request an hour; meanwhile nothing would be started or stopped here.
    const retryInMs = Math.max(backoff.next(), Math.min(error.retryAfterMs ?? 0, longestRetryMs));
    return {
      event: { type: "problem", during, error, retryInMs },
      next: { at: "wait", ms: retryInMs, untilAnswered: error.status === undefined, then },
    };
  }

  function badAnswer(message: string): KubeError {
    return new KubeError(message, { ...asked, reason: "BadAnswer" });
  }

  function errorEvent(object: unknown): KubeError {
    const { code, reason = "WatchError", message = "the watch sent an error" } = asStatus(object) ?? {};
    return new KubeError(message, { ...asked, status: code, reason });
  }

  return { list, open, read };
}
