/**
 * Writes what the scheduler reports about apps into their status.
 *
 * Guarantees: one request in flight per app, the newest change wins, and a change that the status already shows is not sent. Patches
 * carry uid and resourceVersion: after a conflict the change is computed again from the app as it is then, so no other writer's
 * change is overwritten.
 */
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncappPath } from "../../kube/resources.ts";
import { createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/steady-clock.ts";
import { isRejected, readAppNow } from "./bind.ts";
import { type StatusChange, statusPatch } from "./status-patch.ts";
import type { SchedulerApp } from "../types.ts";

export interface StatusWriter {
  /** Queues a change to an app's status; replaces one that was not sent yet. */
  write(key: string, change: StatusChange): void;
  /** The number of apps with a change that is queued or in flight. */
  readonly pending: number;
}

export interface StatusWriterOptions {
  client: KubeClient;
  log: Logger;
  signal: AbortSignal;
  lookup: (key: string) => SchedulerApp | undefined;
  /** Receives the app as the server answers it. */
  apply: (object: NCApp) => void;
  gone: (key: string, uid: string) => void;
  /** Requests at the same time. */
  places?: number;
  /** The clock for timestamps in the status. */
  now?: () => number;
  /** The clock for delays. */
  steady?: () => number;
}

/** Conflicts in a row after which a change is dropped: another client writes all the time. */
const maxConflicts = 4;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, log, signal, lookup, apply, gone, places = 4 } = options;
  const { now = Date.now, steady = steadyNow } = options;
  const waiting = new Map<string, StatusChange>();
  const busy = new Set<string>();
  const backoff = createBackoff({ initialMs: 1000, maxMs: 30_000, jitter: 0.5 });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pausedUntil = 0;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  const enqueue = (key: string, change: StatusChange) => {
    waiting.set(key, change);
    pump();
  };

  const pump = () => {
    const remainingMs = pausedUntil - steady();
    if (remainingMs > 0) {
      timer ??= setTimeout(resume, remainingMs);
      return;
    }
    for (const [key, change] of waiting) {
      if (busy.size >= places) break;
      if (busy.has(key)) continue;
      waiting.delete(key);
      void send(key, change);
    }
  };

  const resume = () => {
    timer = undefined;
    if (!signal.aborted) pump();
  };

  const send = async (key: string, change: StatusChange) => {
    busy.add(key);
    try {
      await patch(key, change);
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      if (isRejected(error)) {
        return log.error("the API server rejected the status of an app", { app: key, error });
      }
      log.warn("cannot write the status of an app; retrying", { app: key, error });
      pausedUntil = steady() + backoff.next();
      if (!waiting.has(key)) waiting.set(key, change);
    } finally {
      busy.delete(key);
      if (!signal.aborted) pump();
    }
  };

  const patch = async (key: string, change: StatusChange) => {
    for (let conflicts = 0; conflicts <= maxConflicts && !signal.aborted; conflicts++) {
      const app = lookup(key);
      const status = app && statusPatch(app, change, now());
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
    write: enqueue,
    get pending() {
      return waiting.size + busy.size;
    },
  };
}
