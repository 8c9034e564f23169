/**
 * Writes what the scheduler reports about apps into their status.
 *
 * Guarantees: one request in flight per app, the newest change wins, and a change that the status already shows is not sent. Patches
 * contain uid and resourceVersion: after a conflict the change is computed again from the current app, so no other writer's change is
 * overwritten. A failed change is retried after waits that grow; a failing server gets one request at a time.
 */
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncappPath } from "../../kube/resources.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import { createKeyedWriter, type WriteResult } from "../../report/keyed-writer.ts";
import { isRejected, readAppNow } from "./bind.ts";
import { type StatusChange, statusPatch } from "./status-patch.ts";
import type { SchedulerApp } from "../types.ts";

export interface StatusWriter {
  /** Queues a change to an app's status; replaces one that was not sent yet. */
  write(key: string, change: StatusChange): void;
  /** Reports whether a change to this app's status is queued or in flight. */
  isPending(key: string): boolean;
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
}

/** Conflicts in a row after which a change is dropped: another client writes all the time. */
const maxConflicts = 4;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, log, signal, lookup, apply, gone, places = 4, now = Date.now } = options;
  const changes = new Map<string, StatusChange>();

  const writer = createKeyedWriter<string>({
    what: "status changes",
    log,
    places,
    due: (key) => changes.has(key) ? { at: 0, urgent: true } : undefined,
    async write(key) {
      const change = changes.get(key)!;
      let result: WriteResult = "skipped";
      try {
        result = await patch(key, change);
      } catch (error) {
        if (signal.aborted || !isRejected(error)) throw error;
        log.error("the API server rejected the status of an app", { app: key, error });
      }
      if (changes.get(key) === change) changes.delete(key);
      return result;
    },
  });
  signal.addEventListener("abort", writer.close, { once: true });

  const patch = async (key: string, change: StatusChange): Promise<WriteResult> => {
    for (let conflicts = 0; conflicts <= maxConflicts && !signal.aborted; conflicts++) {
      const app = lookup(key);
      const status = app && statusPatch(app, change, now());
      if (!app || !status) return "skipped";
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
    write(key, change) {
      changes.set(key, change);
      writer.schedule(key);
    },
    isPending: (key) => changes.has(key),
    get pending() {
      return changes.size;
    },
  };
}
