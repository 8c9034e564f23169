/**
 * Records what happens to apps as core/v1 Events, for `kubectl describe`.
 *
 * Guarantees: `record` never waits and never throws; memory is bounded; an app with too many events of a type is throttled,
 * its events of the other type and other apps are not; no event is lost while an app is throttled or the server is down, but counts arrive late.
 * Caveats: events of one app may reach the server out of order when one is retried; after 1000 different events that could not
 * be sent the oldest are dropped.
 */
import { apiVersion as ncappVersion, appKey, kind as ncappKind } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, wasRejected } from "../../kube/kube-error.ts";
import { events, resourcePath } from "../../kube/resources.ts";
import type { Logger } from "../../lib/log.ts";
import { isoSeconds } from "../../lib/time.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createKeyedWriter } from "../keyed-writer.ts";
import { createTallies, type EventNews, type EventTarget, type Tally } from "./event-aggregator.ts";
import { createTokenBuckets } from "./token-buckets.ts";

export type { EventNews, EventTarget } from "./event-aggregator.ts";

export interface EventRecorder {
  record(target: EventTarget, news: EventNews): void;
  /** Waits until all events that are due are at the server, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Aborts the requests in flight and sends nothing more. */
  close(): void;
}

export interface EventRecorderOptions {
  client: KubeClient;
  /** The component that reports the events: `nckubelet`. */
  component: string;
  node: string;
  log: Logger;
  clock?: Clock;
  random?: () => number;
}

/** An event that the server rejects is dropped after this many attempts; failures of the server are retried forever. */
const maxRefusals = 3;
/** Requests per app and type of event at once; then one every `refillMs`. */
const requestsPerApp = { burst: 25, refillMs: 60_000 };
const timeoutMs = 10_000;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, log, clock = systemClock, random } = options;
  const buckets = createTokenBuckets({ ...requestsPerApp, now: () => clock.now() });
  const tallies = createTallies({ now: () => clock.wall(), onDropped: (tally) => writer.forget(tally) });
  const refused = new WeakMap<Tally, number>();

  const writer = createKeyedWriter<Tally>({
    what: "events",
    appOf,
    log,
    maxInFlight: 2,
    clock,
    random,
    due: (tally) =>
      tally.count === tally.stored ? undefined : { at: buckets.nextAt(bucketOf(tally)), urgent: true },
    async write(tally, { signal }) {
      // Another event of this app may have taken the token that this one waited for.
      if (buckets.nextAt(bucketOf(tally)) > clock.now()) return "skipped";
      const { count } = tally;
      try {
        await store(client, tally, options, signal);
        buckets.take(bucketOf(tally));
        tally.stored = count;
        refused.delete(tally);
      } catch (error) {
        // The server works, and other namespaces are not affected.
        if (isNamespaceGone(error)) return giveUp(tally);
        if (wasRejected(error)) countRefusal(tally);
        throw error;
      }
    },
  });

  const countRefusal = (tally: Tally) => {
    const count = (refused.get(tally) ?? 0) + 1;
    refused.set(tally, count);
    if (count >= maxRefusals) giveUp(tally);
  };

  const giveUp = (tally: Tally): "skipped" => {
    refused.delete(tally);
    // As if it were stored. If the same happens again, the server answers that it is missing, and it is created.
    tally.stored = tally.count;
    return "skipped";
  };

  return {
    record: (target, news) => writer.schedule(tallies.add(target, news)),
    flush: writer.flush,
    close: writer.close,
  };
}

/** A missing Event is created, so a 404 means that its namespace is gone. */
function isNamespaceGone(error: unknown): boolean {
  return hasStatus(error, 404) ||
    hasStatus(error, 403) && /\bbeing terminated\b/.test((error as Error).message);
}

/** Stores a tally at the server: as a new Event, or as a new count on the existing one. */
async function store(
  client: KubeClient,
  tally: Tally,
  author: { component: string; node: string },
  signal: AbortSignal,
): Promise<void> {
  const options = { timeoutMs, signal, priority: "normal" } as const;
  const { namespace } = tally.target;
  const { count, message } = tally;
  const lastTimestamp = isoSeconds(tally.lastAt);
  const create = async () => {
    const body = eventOf(tally, author);
    await client.request({ method: "POST", path: resourcePath(events, { namespace }), body, ...options });
  };
  const update = async () => {
    const path = resourcePath(events, { namespace, name: tally.name });
    await client.request({ method: "PATCH", path, body: { count, lastTimestamp, message }, ...options });
  };
  if (tally.stored === 0) {
    // It exists: an earlier attempt succeeded, and its answer was lost.
    await create().catch((error) => hasStatus(error, 409) ? update() : Promise.reject(error));
  } else {
    // The server deletes Events after a while.
    await update().catch((error) => hasStatus(error, 404) ? create() : Promise.reject(error));
  }
}

function eventOf(tally: Tally, { component, node }: { component: string; node: string }): object {
  const { name, type, reason, message, firstAt, lastAt, count } = tally;
  const { apiVersion = ncappVersion, kind = ncappKind, namespace, name: objectName, uid } = tally.target;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: { apiVersion, kind, namespace, name: objectName, uid },
    type,
    reason,
    message,
    firstTimestamp: isoSeconds(firstAt),
    lastTimestamp: isoSeconds(lastAt),
    count,
    source: { component, host: node },
    reportingComponent: component,
    reportingInstance: node,
  };
}

/** Warnings have their own: a rollout over many nodes must not delay the event that says why it stopped. */
function bucketOf(tally: Tally): string {
  return `${tally.type} ${appOf(tally)}`;
}

function appOf({ target }: Tally): string {
  return `${appKey(target.namespace, target.name)} ${target.uid}`;
}
