/**
 * Reports the status of apps to the API server.
 *
 * Guarantees: never more than one request in flight per app; what goes out is the newest state, and only what differs from
 * what the server has; a change of phase goes before all usage; an object that was recreated under the same name, or that is not
 * bound to this node any more, is never touched; a server in trouble gets about one request a second, then fewer, for all
 * apps together.
 * Caveats: states in between may be skipped. An object that is missing is tried again after five minutes or when it is seen.
 * Who writes a status beside the agent is corrected when `saw` tells of it, once per report period.
 */
import { appKey } from "../../api/names.ts";
import type { NCAppStatus } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/kube-error.ts";
import type { Logger } from "../../lib/log.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createDrain } from "../flush.ts";
import { createGate } from "../circuit-breaker.ts";
import { type Entry, learnResult, learnSeen, newEntry, type ReportedApp, turnOf } from "./report-entry.ts";
import { sendStatus } from "./send-status.ts";
import { createTurns } from "../due-queue.ts";

export type { ReportedApp } from "./report-entry.ts";

export interface StatusReporter {
  /**
   * Wants `status` at the server. `seen` is the status in the object as it was listed or watched, `{}` where it had none;
   * without it, and without `saw` soon, the object is read first.
   */
  report(app: ReportedApp, status: NCAppStatus, seen?: NCAppStatus): void;
  /** Tells what a list or watch brought, so that what others wrote over the agent's status is corrected. */
  saw(app: ReportedApp, status: NCAppStatus | undefined): void;
  /** The server has answered another request: what waits because it gave no answer is tried again. */
  heard(): void;
  /** The object is gone, or no longer bound to this node: nothing is said about it unless it is seen again. */
  lost(app: ReportedApp): void;
  /** The agent has nothing more to say about this object. */
  forget(namespace: string, name: string, uid: string): void;
  /** Waits until all that is due is at the server, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Gives up what is in flight and sends nothing more. */
  close(): void;
}

export interface StatusReporterOptions {
  client: KubeClient;
  /** Only objects that are bound to it are written. */
  node: string;
  log: Logger;
  /** The least time between two reports of usage alone. */
  reportPeriodMs: number;
  /** After this time even a small change of usage goes out. */
  refreshMs?: number;
  /** After a restart apps are known before the API server is listed: so long the list is waited for. */
  unseenWaitMs?: number;
  /** Requests at the same time: fewer than the client has places, so that Leases never queue behind reports. */
  places?: number;
  timeoutMs?: number;
  clock?: Clock;
  random?: () => number;
}

/** Makes a reporter. */
export function createStatusReporter(options: StatusReporterOptions): StatusReporter {
  const { client, node, log, reportPeriodMs: periodMs, refreshMs = 300_000, places = 4 } = options;
  const { unseenWaitMs = 2000, timeoutMs = 10_000, clock = systemClock, random = Math.random } = options;
  const entries = new Map<string, Entry>();
  const drain = createDrain(clock);
  const closing = new AbortController();
  const gate = createGate({ clock, log, what: "status reports", random });
  const turns = createTurns<Entry>(clock, () => pump());
  /** Those whose last try got no answer at all. */
  const unanswered = new Set<Entry>();
  let inFlight = 0;

  const entryOf = (app: ReportedApp, waitMs = 0): Entry => {
    const found = entries.get(appKey(app.namespace, app.name));
    if (found?.target.uid === app.uid) return found;
    if (found) drop(found);
    const now = clock.now();
    const entry = newEntry(app, { now, notBefore: now + waitMs, refreshMs, random });
    entries.set(entry.key, entry);
    return entry;
  };

  const drop = (entry: Entry) => {
    entries.delete(entry.key);
    unanswered.delete(entry);
    turns.remove(entry);
  };

  const place = (entry: Entry) => {
    if (entry.busy || entries.get(entry.key) !== entry) return;
    turns.put(entry, turnOf(entry, { periodMs, refreshMs }));
  };

  const pump = () => {
    while (inFlight < places && gate.mayPass(inFlight)) {
      const turn = turns.take();
      if (!turn) break;
      void send(turn.item, turn.urgent ? "high" : "low");
    }
    if (turns.due > 0 && gate.opensAt > clock.now()) turns.wakeAt(gate.opensAt);
    if (turns.due + inFlight === 0) drain.settle();
  };

  const send = async (entry: Entry, priority: "high" | "low") => {
    const { signal } = closing;
    const before = entry.known;
    entry.busy = true;
    inFlight++;
    try {
      let attempted: NCAppStatus | undefined;
      const wanted = () => attempted = entry.wanted!;
      const options = { node, priority, timeoutMs, signal };
      const result = await sendStatus(client, entry.target, before, wanted, options);
      gate.succeeded();
      entry.backoff.reset();
      unanswered.delete(entry);
      learnResult(entry, before, result, { now: clock.now(), refreshMs });
      entry.sent = attempted;
    } catch (error) {
      if (signal.aborted) return;
      entry.notBefore = clock.now() + entry.backoff.next();
      if (error instanceof KubeError && error.status === undefined) unanswered.add(entry);
      gate.failed(entry.key, error);
    } finally {
      entry.busy = false;
      inFlight--;
      place(entry);
      pump();
    }
  };

  const see = (app: ReportedApp, status: NCAppStatus | undefined): Entry => {
    const entry = entryOf(app);
    learnSeen(entry, { status, resourceVersion: app.resourceVersion });
    return entry;
  };

  return {
    report(app, status, seen) {
      if (closing.signal.aborted) return;
      const entry = seen === undefined ? entryOf(app, unseenWaitMs) : see(app, seen);
      entry.wanted = status;
      place(entry);
      pump();
    },
    saw(app, status) {
      if (closing.signal.aborted) return;
      const entry = see(app, status);
      gate.heard();
      entry.notBefore = 0;
      place(entry);
      pump();
    },
    heard() {
      if (unanswered.size === 0) return;
      gate.heard();
      for (const entry of unanswered) {
        entry.notBefore = 0;
        place(entry);
      }
      unanswered.clear();
      pump();
    },
    lost({ namespace, name, uid }) {
      const entry = entries.get(appKey(namespace, name));
      if (entry?.target.uid !== uid) return;
      entry.foreign = true;
      place(entry);
      pump();
    },
    forget(namespace, name, uid) {
      const entry = entries.get(appKey(namespace, name));
      if (entry?.target.uid === uid) drop(entry);
    },
    flush(timeoutMs) {
      const drained = drain.wait(timeoutMs);
      pump();
      return drained;
    },
    close() {
      closing.abort();
      turns.close();
      entries.clear();
      drain.settle();
    },
  };
}
