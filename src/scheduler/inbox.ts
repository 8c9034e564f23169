/** Connects the cluster state to the loop: fills the queue, collects events, and wakes the loop. */
import { sleep } from "../lib/sleep.ts";
import type { SchedulingQueue } from "./queue/queue.ts";
import type { ClusterState } from "./state/state.ts";
import type { ClusterEvent } from "./types.ts";

/** Events since the last check, each with the nodes, namespaces or apps that it is about. */
export type EventSubjects = Map<ClusterEvent, Set<string>>;

export interface Inbox {
  /** Returns the events since the last call. */
  takeEvents(): EventSubjects;
  /** Ends the current wait, or the next one if none is under way. */
  notify(): void;
  /** Resolves after `notify`, after `ms` at the latest, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createInbox(cluster: ClusterState, queue: SchedulingQueue): Inbox {
  let events: EventSubjects = new Map();
  let notified = false;
  let wake = () => {};
  const notify = () => {
    notified = true;
    wake();
  };
  cluster.listener = {
    onWaiting(app, changed) {
      queue.add(app, changed);
      notify();
    },
    onSettled: (key) => queue.remove(key),
    onEvent(event, subject) {
      const subjects = events.get(event);
      if (subjects) subjects.add(subject);
      else events.set(event, new Set([subject]));
      notify();
    },
  };
  return {
    takeEvents() {
      const taken = events;
      events = new Map();
      return taken;
    },
    notify,
    async wait(ms, signal) {
      if (!notified) {
        const waking = new AbortController();
        wake = () => waking.abort();
        await sleep(ms, AbortSignal.any([signal, waking.signal]));
      }
      notified = false;
    },
  };
}
