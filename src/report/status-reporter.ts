/**
 * Reports the status of apps to the API server.
 *
 * Guarantees: never more than one request in flight per app; what goes out is the newest state, and only what differs from
 * what the server has; a change of phase goes before all usage; an object that was recreated under the same name is never
 * touched; a server in trouble gets about one request a second, then fewer, for all apps together.
 * Caveats: states in between may be skipped. An object that is missing is tried again after five minutes or when it is seen.
 * Who writes a status beside the agent is corrected when `saw` tells of it, once per report period.
 */
import { appKey } from "../api/names.ts";
import type { NCAppStatus } from "../api/types.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Backoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createDrain } from "./drain.ts";
import { createGate, createRetryBackoff } from "./gate.ts";
import { isNewer, type KnownStatus, type ReportTarget, type SendResult, sendStatus } from "./send-status.ts";
import { createTurns, type Turn } from "./turns.ts";
import { whenToSend } from "./when.ts";

/** The object that a status is about. */
export interface ReportedApp extends ReportTarget {
  /** The version of the object that the status beside it was seen in. */
  resourceVersion?: string;
}

export interface StatusReporter {
  /**
   * Wants `status` at the server. `seen` is the status in the object as it was listed or watched, `{}` where it had none;
   * without it, and without `saw` soon, the object is read first.
   */
  report(app: ReportedApp, status: NCAppStatus, seen?: NCAppStatus): void;
  /** Tells what a list or watch brought, so that what others wrote over the agent's status is corrected. */
  saw(app: ReportedApp, status: NCAppStatus | undefined): void;
  /** The agent has nothing more to say about this object. */
  forget(namespace: string, name: string, uid: string): void;
  /** Waits until all that is due is at the server, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Gives up what is in flight and sends nothing more. */
  close(): void;
}

export interface StatusReporterOptions {
  client: KubeClient;
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

interface Entry {
  key: string;
  target: ReportTarget;
  known: KnownStatus;
  wanted?: NCAppStatus;
  /** What the server took last from this agent, and when. */
  sent?: NCAppStatus;
  sentAt: number;
  notBefore: number;
  backoff: Backoff;
  busy: boolean;
  /** Another object has its name. */
  over: boolean;
}

/** Makes a reporter. */
export function createStatusReporter(options: StatusReporterOptions): StatusReporter {
  const { client, log, reportPeriodMs: periodMs, refreshMs = 300_000, places = 4 } = options;
  const { unseenWaitMs = 2000, timeoutMs = 10_000, clock = systemClock, random = Math.random } = options;
  const entries = new Map<string, Entry>();
  const drain = createDrain(clock);
  const closing = new AbortController();
  const gate = createGate({ clock, log, what: "status reports", random });
  const turns = createTurns<Entry>(clock, () => pump());
  let inFlight = 0;

  const entryOf = ({ namespace, name, uid }: ReportedApp, waitMs = 0): Entry => {
    const key = appKey(namespace, name);
    const found = entries.get(key);
    if (found?.target.uid === uid) return found;
    if (found) drop(found);
    const entry: Entry = {
      key,
      target: { namespace, name, uid },
      known: {},
      // The agent before this one sent it some time ago; spread, so that a thousand apps are not due at once.
      sentAt: clock.now() - Math.round(random() * refreshMs),
      notBefore: clock.now() + waitMs,
      backoff: createRetryBackoff(random),
      busy: false,
      over: false,
    };
    entries.set(key, entry);
    return entry;
  };

  const drop = (entry: Entry) => {
    entries.delete(entry.key);
    turns.remove(entry);
  };

  const turnOf = ({ known, wanted, sent, sentAt, notBefore }: Entry): Turn | undefined => {
    if (!wanted) return undefined;
    const decide = (seen?: NCAppStatus) => whenToSend({ seen, wanted, sentAt, periodMs, refreshMs });
    const when = decide(known.status);
    if (when.kind === "not") return undefined;
    if (when.kind === "later") return { at: Math.max(when.at, notBefore), urgent: false };
    // Somebody else wrote over it. Two agents under one name would otherwise correct each other without a pause.
    const isCorrection = sent && decide(sent).kind !== "now";
    return { at: Math.max(isCorrection ? sentAt + periodMs : 0, notBefore), urgent: true };
  };

  const place = (entry: Entry) => {
    if (entry.busy || entry.over || entries.get(entry.key) !== entry) return;
    turns.put(entry, turnOf(entry));
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
      const result = await sendStatus(client, entry.target, before, wanted, { priority, timeoutMs, signal });
      gate.succeeded();
      entry.backoff.reset();
      learn(entry, before, result);
      entry.sent = attempted;
    } catch (error) {
      if (signal.aborted) return;
      entry.notBefore = clock.now() + entry.backoff.next();
      gate.failed(entry.key, error);
    } finally {
      entry.busy = false;
      inFlight--;
      place(entry);
      pump();
    }
  };

  const learn = (entry: Entry, before: KnownStatus, result: SendResult) => {
    if (result.kind === "replaced") {
      entry.over = true;
    } else if (result.kind === "missing") {
      entry.known = {};
      entry.notBefore = clock.now() + refreshMs;
    } else {
      if (result.kind === "sent") entry.sentAt = clock.now();
      // A watch may have brought something newer than this answer.
      const isOvertaken = entry.known !== before && isNewer(entry.known, result.known);
      if (!isOvertaken) entry.known = result.known;
    }
  };

  const see = (app: ReportedApp, status: NCAppStatus | undefined): Entry => {
    const entry = entryOf(app);
    const next: KnownStatus = { status, resourceVersion: app.resourceVersion };
    const isFirst = !entry.known.status && !entry.known.resourceVersion;
    if (isFirst || isNewer(next, entry.known)) entry.known = next;
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
