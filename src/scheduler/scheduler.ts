/**
 * The scheduler put together: watches always, decides while it leads.
 *
 * A standby follows the cluster as the leader does, so that it can go on at once when it is its turn. What it had assumed as a leader
 * is forgotten when it leads no more.
 */
import type { Hono } from "hono";
import { setTimeout as pause } from "node:timers/promises";
import { defaultSchedulerName, electionLease, systemNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { lead, type LeaderOptions, type Leadership } from "../kube/leader.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { createLossKeeper, createObservedClock } from "./node-loss/node-loss.ts";
import {
  createBinder,
  createDeferredWork,
  createEvictor,
  createQuotaKeeper,
  createStatusWriter,
} from "./write/write.ts";
import { ClusterState } from "./state/state.ts";
import { createFollowers } from "./follow/follow.ts";
import { createSchedulerApp, createSchedulerMetrics, missingRights } from "./serve/serve.ts";
import { SchedulingQueue } from "./queue/queue.ts";
import { seededRandom } from "./random.ts";
import { createInbox, runLoop } from "./loop.ts";
import type { Policy } from "./types.ts";

export interface SchedulerOptions {
  client: KubeClient;
  log: Logger;
  version: string;
  /** Who this is among the schedulers; no two may have the same. */
  identity: string;
  schedulerName: string;
  policy: Policy;
  /** False: decide without asking who leads. Safe for the apps, since binds are conditional, but two may overfill a node. */
  leaderElect: boolean;
  /** Other times of the election than 15 s, 10 s and 2 s. */
  election?: Pick<LeaderOptions, "leaseSeconds" | "renewDeadlineMs" | "retryMs">;
  /** Binds at the same time. */
  bindPlaces?: number;
  /** How long an app bears that its node is lost, unless it says otherwise. */
  defaultTolerationMs?: number;
  /** How long a node may be silent before it counts as lost; undefined: as long as its Lease lasts, 40 s. */
  nodeGraceMs?: number;
  /** Has the endpoint listen; undefined: there is none. */
  serve?: (app: Hono) => Promise<{ close(): Promise<void> }>;
  seed?: number;
  tickMs?: number;
}

const lastEventsMs = 2000;

/** Runs a scheduler until the signal aborts. */
export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const {
    client,
    log,
    version,
    identity,
    schedulerName,
    policy,
    leaderElect,
    bindPlaces = 16,
    tickMs = 1000,
  } = options;
  const { seed = Date.now(), defaultTolerationMs, nodeGraceMs } = options;
  const observedClock = createObservedClock();
  const clocks = () => ({ watched: observedClock.now(), wall: Date.now() });
  const cluster = new ClusterState({ schedulerName, clocks, nodeGraceMs });
  const queue = new SchedulingQueue();
  const inbox = createInbox(cluster, queue);
  const metrics = createSchedulerMetrics();
  const followers = createFollowers(client, cluster, log, () => inbox.bell.ring());
  const random = seededRandom(seed);
  let leading = false;

  /** What is done once a second, by a leader and by a standby. */
  let onTick: ((states: ReturnType<typeof cluster.liveness.states>) => void) | undefined;
  const tick = () => {
    observedClock.tick(followers.seesLeases);
    if (!followers.ready) return;
    const states = cluster.liveness.states();
    cluster.releaseOverdue();
    onTick?.(states);
  };

  const work = async (leadership: Leadership) => {
    const { signal, isLeader: mayWrite } = leadership;
    while (!followers.ready && !signal.aborted) await inbox.bell.wait(1000, signal);
    const recorder = createEventRecorder({ client, component: schedulerName, node: identity, log });
    const writer = createStatusWriter({
      client,
      log,
      signal,
      lookup: (key) => cluster.app(key),
      apply: (object) => cluster.applyAnswer(object),
      gone: (key, uid) => cluster.removeApp(key, uid),
    });
    const shared = { client, log, cluster, writer, recorder, metrics, mayWrite, signal };
    const deferred = createDeferredWork({
      isBusy: () => binder.inFlight > 0 || queue.sizes.active > 0,
      signal,
    });
    const binder = createBinder({ ...shared, deferred, onUnbound: (key) => queue.retryLater(key) });
    const evictor = createEvictor(shared);
    const losses = createLossKeeper({ cluster, writer, evictor, recorder, log, defaultTolerationMs });
    const quotas = createQuotaKeeper({ client, cluster, log, signal });
    onTick = (states) => {
      // Not seen is not silent: while the Leases are out of sight, nothing is concluded from what they said last.
      if (followers.seesLeases) losses.tick(states);
      quotas.tick();
    };
    leading = true;
    try {
      await runLoop({ ...shared, queue, inbox, binder, evictor, policy, random, bindPlaces }, signal);
      // Binds on their way end with the signal; only then is all of them known to be over.
      while (binder.inFlight > 0) await pause(10);
    } finally {
      leading = false;
      onTick = undefined;
      deferred.flush();
      await recorder.flush(lastEventsMs);
      recorder.close();
    }
  };

  const server = await options.serve?.(createSchedulerApp({
    version,
    identity,
    startedAt: new Date(),
    leading: () => leading,
    followers: () => followers.states,
    queues: () => queue.sizes,
    nodes: () => countNodes(cluster),
    apps: () => cluster.appCount,
    metrics: () =>
      metrics.render({
        leader: leading,
        queues: queue.sizes,
        nodes: countNodes(cluster),
        apps: cluster.appCount,
      }),
  }));
  // One part that breaks takes the others with it: half a scheduler is worse than none.
  const broken = new AbortController();
  const until = AbortSignal.any([signal, broken.signal]);
  const name = electionLease(schedulerName);
  const election = { ...options.election, namespace: systemNamespace, name, identity, log };
  const parts = [
    followers.run(until),
    repeat(tickMs, tick, until),
    leaderElect
      ? lead(client, election, work, until)
      : work({ signal: until, isLeader: () => !until.aborted }),
    ...(leaderElect && schedulerName !== defaultSchedulerName ? [tellMissingRights(options, until)] : []),
  ];
  try {
    await Promise.all(parts);
  } finally {
    broken.abort();
    await Promise.allSettled(parts);
    await server?.close();
  }
}

/** The installed roles name the Lease of the default scheduler alone; without its own one of another name would wait for ever. */
async function tellMissingRights(
  { client, log, schedulerName }: SchedulerOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    const missing = await missingRights(client, signal, schedulerName);
    if (missing.length === 0) return;
    log.warn(
      `--scheduler-name ${schedulerName}: the API server does not let this user ${missing.join(", ")}: ` +
        `its leader's Lease is ${electionLease(schedulerName)}, which needs a role (docs/scheduler.md)`,
    );
  } catch (error) {
    if (!signal.aborted) log.debug("cannot ask for the rights of this scheduler", { error });
  }
}

async function repeat(ms: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await sleep(ms, signal);
  }
}

function countNodes({ snapshot }: ClusterState): Record<string, number> {
  const counts = { fresh: 0, stale: 0, none: 0 };
  for (const { agent } of snapshot.nodes) counts[agent]++;
  return counts;
}
