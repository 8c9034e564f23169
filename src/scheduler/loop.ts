/**
 * The scheduling loop: takes the next waiting app from the queue and decides. A bind goes to the binder, a refused app is parked, and
 * preemption evicts its victims.
 *
 * Decisions are made one after the other, each based on all earlier ones; up to `maxBindsInFlight` binds are in flight at the same time.
 */
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Inbox } from "./inbox.ts";
import { placeApp, type PlacementDecision, type Preemption, type Refusal } from "./place/place.ts";
import type { SchedulingQueue } from "./queue/queue.ts";
import { requeueUnblocked } from "./requeue.ts";
import { eventTarget, type Policy, type SchedulerApp } from "./types.ts";
import type { Binder, Evictor, LeaderContext } from "./write/write.ts";

/** Decisions in a row after which the watches and the election get a turn, and the time after which they get it sooner. */
const turnEvery = 64;
const turnMs = 20;
/** The longest wait, in case a notification was missed. */
const longestWaitMs = 1000;

export interface LoopOptions extends Omit<LeaderContext, "writes" | "mayWrite" | "signal"> {
  queue: SchedulingQueue;
  inbox: Inbox;
  binder: Binder;
  evictor: Evictor;
  policy: Policy;
  maxBindsInFlight: number;
}

export async function runLoop(options: LoopOptions, signal: AbortSignal): Promise<void> {
  const { cluster, queue, inbox, binder, policy, maxBindsInFlight, now = Date.now } = options;
  let failure: { error: unknown } | undefined;
  const schedule = createStep(options, (error) => {
    failure = { error };
    inbox.notify();
  });
  let turnAt = performance.now();
  for (let decisions = 1; !signal.aborted; decisions++) {
    if (failure) throw failure.error;
    requeueUnblocked(queue, cluster, inbox.takeEvents(), { policy, now: now() });
    const key = binder.inFlight < maxBindsInFlight ? queue.take() : undefined;
    if (key !== undefined) schedule(key);
    else {
      await inbox.wait(Math.min(longestWaitMs, waitMs()), signal);
      turnAt = performance.now();
    }
    if (decisions % turnEvery === 0 || performance.now() - turnAt > turnMs) {
      await nextTurn();
      turnAt = performance.now();
    }
  }

  function waitMs(): number {
    return binder.inFlight >= maxBindsInFlight ? longestWaitMs : queue.waitMs();
  }
}

/** `fail` receives errors of work that continues after the step: wrong sums must end the loop. */
function createStep(options: LoopOptions, fail: (error: unknown) => void): (key: string) => void {
  const { log, cluster, queue, inbox, binder, evictor, writer, recorder, metrics, policy } = options;
  const { now = Date.now } = options;
  let start = 0;

  const schedule = (key: string) => {
    const app = cluster.apps.get(key);
    if (!app || app.nodeName) return queue.remove(key);
    const startedAt = performance.now();
    const decision = placeApp(app, cluster, { policy, random: Math.random, start, now: now() });
    metrics.decided(resultOf(decision), performance.now() - startedAt);
    if (decision.kind === "bind") {
      start = (start + decision.examined) % Math.max(1, cluster.snapshot.nodes.length);
      const bound = binder.bind(decision.app, decision.node, decision.defaults);
      bound.catch(fail).finally(() => inbox.notify());
      return;
    }
    const preemption = decision.kind === "refuse" ? decision.preemption : undefined;
    queue.park(key, decision.helpedBy);
    cluster.snapshot.nominate(decision.app, preemption?.node);
    if (decision.kind === "refuse") report(decision);
    if (preemption && preemption.victims.length > 0) preempt(decision.app, preemption).catch(fail);
  };

  const report = ({ app, message, preemption }: Refusal) => {
    log.debug("no node fits an app", { app: app.key, message });
    writer.write(app.key, { kind: "refused", message, nominated: preemption?.node });
    recorder.record(eventTarget(app), { type: "Warning", reason: "FailedScheduling", message });
  };

  const preempt = async (app: SchedulerApp, { node, victims }: Preemption) => {
    const why = `Preempted by ${app.key} on node ${node}`;
    const evictions = victims.map(({ key }) => {
      const victim = cluster.apps.get(key);
      if (victim) cluster.budgets.spend(victim, now());
      return victim ? evictor.evict(victim, "Preempted", why) : false;
    });
    // A victim could not be evicted, for example because its bind is not confirmed yet: decide again.
    if (!(await Promise.all(evictions)).every(Boolean)) queue.wake(app.key);
  };

  return schedule;
}

function resultOf(decision: PlacementDecision): "bound" | "preempting" | "refused" {
  if (decision.kind === "bind") return "bound";
  return decision.kind === "refuse" && decision.preemption?.victims.length ? "preempting" : "refused";
}
