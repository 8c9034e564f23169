/**
 * Writes what the scheduler reports about apps into their status.
 *
 * Guarantees: one request in flight per app, the newest change wins, and a change that the status already shows is not sent. Patches
 * contain uid and resourceVersion: after a conflict the change is computed again from the current app, so no other writer's change is
 * overwritten. A failed change is retried after waits that grow; a failing server gets one request at a time.
 */
import { wasRejected } from "../../kube/kube-error.ts";
import type { Logger } from "../../lib/log.ts";
import { createKeyedWriter } from "../../report/keyed-writer.ts";
import type { AppWrites } from "./app-writes.ts";
import { type StatusChange, statusPatch } from "./status-patch.ts";
import type { SchedulerApp } from "../types.ts";

export interface StatusWriter {
  /** Queues a change to an app's status; replaces one that was not sent yet. */
  write(key: string, change: StatusChange): void;
  /** Reports whether a change to this app's status is queued or in flight. */
  isPending(key: string): boolean;
}

export interface StatusWriterOptions {
  writes: AppWrites;
  log: Logger;
  signal: AbortSignal;
  lookup: (key: string) => SchedulerApp | undefined;
  /** The clock for timestamps in the status. */
  now?: () => number;
}

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { writes, log, signal, lookup, now = Date.now } = options;
  const changes = new Map<string, StatusChange>();

  const writer = createKeyedWriter<string>({
    what: "status changes",
    log,
    maxInFlight: 4,
    due: (key) => changes.has(key) ? { at: 0, urgent: true } : undefined,
    async write(key) {
      const change = changes.get(key)!;
      const decide = (newest: SchedulerApp) => {
        const status = statusPatch(newest, change, now());
        return status && { status };
      };
      const app = lookup(key);
      let isWritten = false;
      try {
        isWritten = app !== undefined && await writes.update(app, decide);
      } catch (error) {
        if (signal.aborted || !wasRejected(error)) throw error;
        log.error("the API server rejected the status of an app", { app: key, error });
      }
      if (changes.get(key) === change) changes.delete(key);
      if (!isWritten) return "skipped";
    },
  });
  signal.addEventListener("abort", writer.close, { once: true });

  return {
    write(key, change) {
      changes.set(key, change);
      writer.schedule(key);
    },
    isPending: (key) => changes.has(key),
  };
}
