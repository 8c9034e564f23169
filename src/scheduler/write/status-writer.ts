/**
 * Brings what the scheduler has to say about apps into their status.
 *
 * Guarantees: one request in flight per app, the newest news win, what the status says already is not sent. Patches carry uid and
 * resourceVersion: whoever writes in between is not overwritten, the news are held against the app as it is then.
 */
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncappPath } from "../../kube/resources.ts";
import { createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/steady-clock.ts";
import { readAppNow } from "./bind.ts";
import { isRefusal } from "./is-refusal.ts";
import { type StatusNews, statusPatch } from "./status-patch.ts";
import type { AppRecord } from "../types.ts";

export interface StatusWriter {
  /** Wants the news told; replaces what was not told yet. */
  put(key: string, news: StatusNews): void;
  /** How many apps there is something to say about. */
  readonly pending: number;
}

export interface StatusWriterOptions {
  client: KubeClient;
  log: Logger;
  signal: AbortSignal;
  lookup: (key: string) => AppRecord | undefined;
  /** Told what the server answers. */
  apply: (object: NCApp) => void;
  gone: (key: string, uid: string) => void;
  places?: number;
  /** For what is written. */
  now?: () => number;
  /** For waits. */
  steady?: () => number;
}

/** So many changes by others in a row mean that they write all the time. */
const maxConflicts = 4;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, log, signal, lookup, apply, gone, places = 4 } = options;
  const { now = Date.now, steady = steadyNow } = options;
  const waiting = new Map<string, StatusNews>();
  const busy = new Set<string>();
  const backoff = createBackoff({ initialMs: 1000, maxMs: 30_000, jitter: 0.5 });
  let alarm: ReturnType<typeof setTimeout> | undefined;
  let pausedUntil = 0;
  signal.addEventListener("abort", () => clearTimeout(alarm), { once: true });

  const put = (key: string, news: StatusNews) => {
    waiting.set(key, news);
    pump();
  };

  const pump = () => {
    const leftMs = pausedUntil - steady();
    if (leftMs > 0) {
      alarm ??= setTimeout(wake, leftMs);
      return;
    }
    for (const [key, news] of waiting) {
      if (busy.size >= places) break;
      if (busy.has(key)) continue;
      waiting.delete(key);
      void send(key, news);
    }
  };

  const wake = () => {
    alarm = undefined;
    if (!signal.aborted) pump();
  };

  const send = async (key: string, news: StatusNews) => {
    busy.add(key);
    try {
      await write(key, news);
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) return log.error("the server refuses the status of an app", { app: key, error });
      log.warn("cannot write the status of an app; trying again", { app: key, error });
      pausedUntil = steady() + backoff.next();
      if (!waiting.has(key)) waiting.set(key, news);
    } finally {
      busy.delete(key);
      if (!signal.aborted) pump();
    }
  };

  const write = async (key: string, news: StatusNews) => {
    for (let conflicts = 0; conflicts <= maxConflicts && !signal.aborted; conflicts++) {
      const app = lookup(key);
      const status = app && statusPatch(app, news, now());
      if (!app || !status) return;
      const { namespace, name, uid, resourceVersion } = app;
      const path = ncappPath(namespace, name, "status");
      const body = { metadata: { uid, resourceVersion }, status };
      try {
        return apply(await client.request<NCApp>({ method: "PATCH", path, body, timeoutMs: 10_000, signal }));
      } catch (error) {
        if (hasStatus(error, 404)) return gone(key, uid);
        if (!hasStatus(error, 409)) throw error;
        if (conflicts > 0) await sleep(50 * conflicts, signal);
        const object = await readAppNow(client, app, { signal });
        if (object) apply(object);
        else gone(key, uid);
      }
    }
  };

  return {
    put,
    get pending() {
      return waiting.size + busy.size;
    },
  };
}
