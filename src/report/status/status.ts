/**
 * Reports the status of apps to the API server.
 *
 * Guarantees: never more than one request in flight per app; a report carries the newest state, and only what differs from
 * what the server has; a change that is not usage goes first (when-to-send.ts); an object that was recreated under the same name, or that is
 * no longer bound to this node, is never touched; a failing server gets about one request a second, then fewer, for all apps
 * together.
 * Caveats: states in between may be skipped. A missing object is tried again after five minutes, or when it is seen. A status
 * that another client overwrites is corrected when `objectSeen` brings it, once per report period.
 */
import { appKey } from "../../api/names.ts";
import type { NCAppStatus } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createKeyedWriter } from "../keyed-writer.ts";
import { applyResult, applySeen, type AppReport, dueOf, newReport } from "./app-report.ts";
import { type ReportTarget, sendStatus } from "./send-status.ts";

export { statusDelta } from "./delta.ts";
export { createReleases, releasePatch, type Releases } from "./release.ts";
export { refOf, type ReportTarget } from "./send-status.ts";

export interface StatusReporter {
  /**
   * Sets the status that the server should have. `seen` is the status in the object as it was listed or watched, `{}` if it had
   * none; without it, and without `objectSeen` soon after, the object is read first.
   */
  report(app: ReportTarget, status: NCAppStatus, seen?: NCAppStatus): void;
  /** Applies an object from a list or watch, so that a status that another client overwrote is corrected. */
  objectSeen(app: ReportTarget, status: NCAppStatus | undefined): void;
  /** The server answered another request: reports that got no answer are retried. */
  serverAnswered(): void;
  /** The object is gone, or no longer bound to this node: it is not written unless it is seen again. */
  objectLost(app: ReportTarget): void;
  /** The agent has nothing more to report about this object. */
  forget(namespace: string, name: string, uid: string): void;
  /** Waits until all reports that are due are at the server, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Aborts the requests in flight and sends nothing more. */
  close(): void;
}

export interface StatusReporterOptions {
  client: KubeClient;
  /** The node of this agent. Only objects that are bound to it are written. */
  node: string;
  log: Logger;
  /** The least time between two reports of usage alone. */
  reportPeriodMs: number;
  /** Requests at the same time: fewer than those of the client, so that Leases never queue behind reports. */
  maxInFlight?: number;
  clock?: Clock;
  random?: () => number;
}

/** How long to wait for the list of the API server: after a restart the apps are known before it. */
const unseenWaitMs = 2000;

export function createStatusReporter(options: StatusReporterOptions): StatusReporter {
  const { client, node, log, reportPeriodMs, maxInFlight = 4 } = options;
  const { clock = systemClock, random = Math.random } = options;
  const entries = new Map<string, AppReport>();

  const writer = createKeyedWriter<string>({
    what: "status reports",
    log,
    maxInFlight,
    clock,
    random,
    due(key) {
      const entry = entries.get(key);
      return entry && dueOf(entry, reportPeriodMs);
    },
    async write(key, { urgent, signal }) {
      const entry = entries.get(key)!;
      const before = entry.known;
      let attempted: NCAppStatus | undefined;
      const wanted = () => attempted = entry.wanted!;
      const priority = urgent ? "high" : "low";
      const result = await sendStatus(client, entry.target, before, wanted, { node, priority, signal });
      applyResult(entry, before, result, clock.now());
      entry.sent = attempted;
    },
  });

  const entryOf = (app: ReportTarget, waitMs = 0): AppReport => {
    const key = appKey(app.namespace, app.name);
    const found = entries.get(key);
    if (found?.target.uid === app.uid) return found;
    writer.forget(key);
    const now = clock.now();
    const entry = newReport(app, { now, notBefore: now + waitMs, random });
    entries.set(key, entry);
    return entry;
  };

  const see = (app: ReportTarget, status: NCAppStatus | undefined): AppReport => {
    const entry = entryOf(app);
    applySeen(entry, { status, resourceVersion: app.resourceVersion });
    return entry;
  };

  return {
    report(app, status, seen) {
      const entry = seen === undefined ? entryOf(app, unseenWaitMs) : see(app, seen);
      entry.wanted = status;
      writer.schedule(entry.key);
    },
    objectSeen(app, status) {
      const entry = see(app, status);
      entry.notBefore = 0;
      writer.scheduleSeen(entry.key);
    },
    serverAnswered: writer.serverAnswered,
    objectLost({ namespace, name, uid }) {
      const entry = entries.get(appKey(namespace, name));
      if (entry?.target.uid !== uid) return;
      entry.foreign = true;
      writer.schedule(entry.key);
    },
    forget(namespace, name, uid) {
      const key = appKey(namespace, name);
      if (entries.get(key)?.target.uid !== uid) return;
      entries.delete(key);
      writer.forget(key);
    },
    flush: writer.flush,
    close: writer.close,
  };
}
