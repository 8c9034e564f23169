/**
 * The scheduling loop: takes the next app that waits, decides, and has it bound, refused, or room made for it.
 *
 * Decisions are made one after the other, each on all those before it; binds are sent at the same time, up to `bindPlaces` of them.
 */
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "../lib/log.ts";
import type { EventRecorder } from "../report/events/events.ts";
import { type Bell, createBell } from "./bell.ts";
import { type Binder, type Evictor, type StatusWriter } from "./write/write.ts";
import { placeApp, type PlacementDecision, type Preemption } from "./place/place.ts";
import { type ClusterEvent, eventTarget, type Policy, type SchedulerApp } from "./types.ts";
import type { SchedulerMetrics } from "./serve/serve.ts";
import { type SchedulingQueue } from "./queue/queue.ts";
import { type EventSubjects, requeueUnblocked } from "./requeue.ts";
import type { ClusterState } from "./state/state.ts";

/** After so many decisions in a row the watches get a turn. */
const turnEvery = 64;
/** At the latest then the loop looks around, whatever it was or was not told. */
const longestWaitMs = 1000;

export interface Inbox {
  readonly bell: Bell;
  /** What happened since it was asked last. */
  takeEvents(): EventSubjects;
}

/** Connects the cluster to the queue: who waits is put in, what happened is kept for the loop. */
export function createInbox(cluster: ClusterState, queue: SchedulingQueue): Inbox {
  const bell = createBell();
  let events: EventSubjects = new Map();
  cluster.listener = {
    waits(app, changed) {
      queue.add(app, changed);
      bell.ring();
    },
    settled: (key) => queue.remove(key),
    happened(event: ClusterEvent, subject) {
      const subjects = events.get(event);
      if (subjects) subjects.add(subject);
      else events.set(event, new Set([subject]));
      bell.ring();
    },
  };
  return {
    bell,
    takeEvents() {
      const taken = events;
      events = new Map();
      return taken;
    },
  };
}

export interface LoopOptions {
  log: Logger;
  cluster: ClusterState;
  queue: SchedulingQueue;
  inbox: Inbox;
  binder: Binder;
  evictor: Evictor;
  writer: StatusWriter;
  recorder: EventRecorder;
  metrics: SchedulerMetrics;
  policy: Policy;
  random: () => number;
  bindPlaces: number;
  now?: () => number;
}

/** Schedules until the signal aborts. */
export async function runLoop(options: LoopOptions, signal: AbortSignal): Promise<void> {
  const { cluster, queue, inbox, binder, policy, bindPlaces } = options;
  let broken: { error: unknown } | undefined;
  const step = createStep(options, (error) => {
    broken = { error };
    inbox.bell.ring();
  });
  for (let decisions = 1; !signal.aborted; decisions++) {
    if (broken) throw broken.error;
    requeueUnblocked(queue, cluster, inbox.takeEvents(), policy);
    const key = binder.inFlight < bindPlaces ? queue.take() : undefined;
    if (key !== undefined) step(key);
    else await inbox.bell.wait(Math.min(longestWaitMs, waitMs()), signal);
    if (decisions % turnEvery === 0) await nextTurn();
  }

  function waitMs(): number {
    return binder.inFlight >= bindPlaces ? longestWaitMs : queue.waitMs();
  }
}

type Refusal = Extract<PlacementDecision, { kind: "refuse" }>;

/** What goes on after a step has returned ends in `fail` if it breaks: a loop over wrong sums must not go on. */
function createStep(options: LoopOptions, fail: (error: unknown) => void): (key: string) => void {
  const { log, cluster, queue, inbox, binder, evictor, writer, recorder, metrics, policy, random } = options;
  const { now = Date.now } = options;
  let start = 0;

  const refuse = ({ app, refusedBy, message, preemption }: Refusal) => {
    queue.park(app.key, refusedBy);
    cluster.snapshot.nominate(app, preemption?.node);
    // To wait for one's own end is nothing to complain about.
    if (refusedBy.includes("leaving")) return;
    log.debug("an app fits nowhere", { app: app.key, message });
    writer.write(app.key, { kind: "refused", message, nominated: preemption?.node });
    recorder.record(eventTarget(app), { type: "Warning", reason: "FailedScheduling", message });
    if (preemption && preemption.victims.length > 0) makeRoom(app, preemption).catch(fail);
  };

  const makeRoom = async (app: SchedulerApp, { node, victims }: Preemption) => {
    const why = `Preempted by ${app.key} on node ${node}`;
    const ends = victims.map(({ key }) => {
      const victim = cluster.app(key);
      return victim ? evictor.evict(victim, "Preempted", why) : false;
    });
    // One that could not go, such as one whose bind is not confirmed yet: all is to be looked at again.
    if (!(await Promise.all(ends)).every(Boolean)) queue.wake(app.key);
  };

  return (key) => {
    const app = cluster.app(key);
    if (!app || app.nodeName) return queue.remove(key);
    const startedAt = performance.now();
    const decision = placeApp(app, cluster, { policy, random, start, now: now() });
    const ms = performance.now() - startedAt;
    if (decision.kind === "bind") {
      start = (start + decision.examined) % Math.max(1, cluster.snapshot.nodes.length);
      metrics.decided("bound", ms);
      const bound = binder.bind(decision.app, decision.node, decision.defaults);
      bound.catch(fail).finally(() => inbox.bell.ring());
    } else {
      metrics.decided(decision.preemption?.victims.length ? "preempting" : "refused", ms);
      refuse(decision);
    }
  };
}
