/**
 * Brings what the scheduler has to say about apps into their status.
 *
 * Guarantees: one request in flight per app, the newest news win, what the status says already is not sent. Patches carry uid and
 * resourceVersion: whoever writes in between is not overwritten, the news are held against the app as it is then.
 * News of a bind are late on purpose: mostly the node's agent says the same within seconds, and nothing needs to be sent.
 */
import type { NCApp } from "../api/types.ts";
import type { KubeClient } from "../kube/client.ts";
import { hasStatus } from "../kube/kube-error.ts";
import { ncappPath } from "../kube/resources.ts";
import { createBackoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { readAppNow } from "./bind.ts";
import { isRefusal } from "./is-refusal.ts";
import { type StatusNews, statusPatch } from "./status-patch.ts";
import type { AppRecord } from "./types.ts";

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
  lateMs?: number;
  now?: () => number;
}

/** So many changes by others in a row mean that they write all the time. */
const maxConflicts = 4;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, log, signal, lookup, apply, gone, places = 4, lateMs = 3000, now = Date.now } = options;
  const waiting = new Map<string, StatusNews>();
  const late = new Map<string, { news: StatusNews; at: number }>();
  const busy = new Set<string>();
  const backoff = createBackoff({ initialMs: 1000, maxMs: 30_000, jitter: 0.5 });
  let alarm: ReturnType<typeof setTimeout> | undefined;
  let pausedUntil = 0;
  signal.addEventListener("abort", () => clearTimeout(alarm), { once: true });

  const put = (key: string, news: StatusNews) => {
    waiting.delete(key);
    late.delete(key);
    if (news.kind === "bound") late.set(key, { news, at: now() + lateMs });
    else waiting.set(key, news);
    pump();
  };

  const pump = () => {
    const [nextLate] = late.values();
    for (const [key, { news, at }] of late) {
      if (at > now()) break;
      late.delete(key);
      waiting.set(key, news);
    }
    if (now() >= pausedUntil) {
      for (const [key, news] of waiting) {
        if (busy.size >= places) break;
        if (busy.has(key)) continue;
        waiting.delete(key);
        void send(key, news);
      }
    }
    const due = waiting.size > 0 && busy.size === 0 ? pausedUntil : nextLate?.at;
    if (due !== undefined && !signal.aborted) {
      clearTimeout(alarm);
      alarm = setTimeout(pump, Math.max(10, due - now()));
    }
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
      pausedUntil = now() + backoff.next();
      if (!waiting.has(key) && !late.has(key)) waiting.set(key, news);
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
      return waiting.size + late.size + busy.size;
    },
  };
}
