/**
 * The last events of every app on this node, in memory: what `nckubelet events` and `describe` show, with and without a cluster.
 *
 * At most `perApp` events of each app are kept; equal ones are counted. Those of a removed app go with it.
 */
import type { AppEventView } from "../../server/view.ts";
import type { AppEvent } from "../../supervisor/types.ts";

export interface EventLog {
  add(key: string, event: AppEvent): void;
  forget(key: string): void;
  /** The events of all apps, oldest first. */
  list(): AppEventView[];
}

const maxMessageLength = 1024;

export function createEventLog({ perApp = 20, now = Date.now } = {}): EventLog {
  const events = new Map<string, AppEventView[]>();
  return {
    add(key, { type, reason, message: whole }) {
      const time = new Date(now()).toISOString();
      const message = whole.slice(0, maxMessageLength);
      const known = events.get(key) ?? [];
      const same = known.find((event) => event.reason === reason && event.message === message);
      const next: AppEventView = same
        ? { ...same, type, count: same.count + 1, lastTimestamp: time }
        : { app: key, type, reason, message, count: 1, firstTimestamp: time, lastTimestamp: time };
      events.set(key, [...known.filter((event) => event !== same), next].slice(-perApp));
    },
    forget: (key) => void events.delete(key),
    list: () => [...events.values()].flat().sort((a, b) => a.lastTimestamp < b.lastTimestamp ? -1 : 1),
  };
}
