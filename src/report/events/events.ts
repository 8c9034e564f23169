/**
 * Tells the story of apps as core/v1 Events, for `kubectl describe`.
 *
 * Guarantees: `record` never waits and never throws; memory is bounded; an app that says too much is slowed down, the others are
 * not; nothing is lost while an app is slowed down or the server is away, except that counts arrive late.
 * Caveats: events of one app may reach the server out of order when one has to be tried again; after 1000 different events
 * that could not be sent the oldest are dropped.
 */
import { apiVersion as ncappVersion, appKey, kind as ncappKind } from "../../api/names.ts";
import type { KubeClient, KubeRequest } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { events, resourcePath } from "../../kube/resources.ts";
import type { Backoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { isoSeconds } from "../../lib/time.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createTallies, type EventNews, type EventTarget, type Tally } from "./event-aggregator.ts";
import { createDrain } from "../flush.ts";
import { createGate, createRetryBackoff } from "../circuit-breaker.ts";
import { createTokenBuckets } from "./token-buckets.ts";
import { createTurns } from "../due-queue.ts";

export type { EventNews, EventTarget } from "./event-aggregator.ts";

export interface EventRecorder {
  record(target: EventTarget, news: EventNews): void;
  /** Waits until all that is due is at the server, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Gives up what is in flight and sends nothing more. */
  close(): void;
}

export interface EventRecorderOptions {
  client: KubeClient;
  /** Who says it: `nckubelet`. */
  component: string;
  node: string;
  log: Logger;
  /** So many requests per app at once, then one each `refillMs`. */
  burst?: number;
  refillMs?: number;
  places?: number;
  timeoutMs?: number;
  clock?: Clock;
  random?: () => number;
}

/** A refusal of one event is not worth more tries than this; trouble of the server is waited out. */
const maxRefusals = 3;
const refusals: readonly number[] = [400, 403, 404, 405, 413, 422];

/** Makes a recorder. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, log, burst = 25, refillMs = 60_000, places = 2, timeoutMs = 10_000 } = options;
  const { clock = systemClock, random = Math.random } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const gate = createGate({ clock, log, what: "events", random });
  const turns = createTurns<Tally>(clock, () => pump());
  const buckets = createTokenBuckets({ burst, refillMs, now: () => clock.now() });
  const tallies = createTallies({ now: () => clock.wall(), onDropped: (tally) => turns.remove(tally) });
  const troubles = new WeakMap<Tally, { backoff: Backoff; notBefore: number; refused: number }>();
  const busy = new Set<Tally>();
  const drain = createDrain(clock);

  const place = (tally: Tally) => {
    if (busy.has(tally) || tally.count === tally.stored) return;
    const { notBefore = 0 } = troubles.get(tally) ?? {};
    turns.put(tally, { at: Math.max(notBefore, buckets.nextAt(keyOf(tally))), urgent: true });
  };

  const pump = () => {
    while (busy.size < places && gate.mayPass(busy.size)) {
      const tally = turns.take()?.item;
      if (!tally) break;
      // Another event of this app may have taken the token that this one waited for.
      if (buckets.nextAt(keyOf(tally)) > clock.now()) place(tally);
      else void send(tally);
    }
    if (turns.due > 0 && gate.opensAt > clock.now()) turns.wakeAt(gate.opensAt);
    if (turns.due + busy.size === 0) drain.settle();
  };

  const send = async (tally: Tally) => {
    busy.add(tally);
    const { count } = tally;
    try {
      await store(client, tally, options, { timeoutMs, signal, priority: "normal" });
      buckets.take(keyOf(tally));
      tally.stored = count;
      troubles.delete(tally);
      gate.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      failed(tally, error);
    } finally {
      busy.delete(tally);
      place(tally);
      pump();
    }
  };

  const giveUp = (tally: Tally) => {
    troubles.delete(tally);
    // As if it were there. Should the same happen again, the server says that it is not, and it is created.
    tally.stored = tally.count;
  };

  const failed = (tally: Tally, error: unknown) => {
    // The server is there, and this is no trouble of other namespaces.
    if (isNamespaceGone(error)) return giveUp(tally);
    const trouble = troubles.get(tally) ?? { backoff: createRetryBackoff(random), notBefore: 0, refused: 0 };
    troubles.set(tally, trouble);
    trouble.notBefore = clock.now() + trouble.backoff.next();
    gate.failed(keyOf(tally), error);
    if (!(error instanceof KubeError && refusals.includes(error.status ?? 0))) return;
    if (++trouble.refused >= maxRefusals) giveUp(tally);
  };

  return {
    record(target, news) {
      if (signal.aborted) return;
      place(tallies.add(target, news));
      pump();
    },
    flush(timeoutMs) {
      const drained = drain.wait(timeoutMs);
      pump();
      return drained;
    },
    close() {
      closing.abort();
      turns.close();
      drain.settle();
    },
  };
}

/** An Event that is not there is created: what is not found then is its namespace. */
function isNamespaceGone(error: unknown): boolean {
  return hasStatus(error, 404) ||
    hasStatus(error, 403) && /\bbeing terminated\b/.test((error as Error).message);
}

/** Brings a tally to the server: as a new Event, or as a new count on the one that is there. */
async function store(
  client: KubeClient,
  tally: Tally,
  author: { component: string; node: string },
  options: Pick<KubeRequest, "timeoutMs" | "signal" | "priority">,
): Promise<void> {
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
    // It is there already: a try before this one got through, and its answer was lost.
    await create().catch((error) => hasStatus(error, 409) ? update() : Promise.reject(error));
  } else {
    // The server forgets Events after a while.
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

function keyOf({ target }: Tally): string {
  return `${appKey(target.namespace, target.name)} ${target.uid}`;
}
