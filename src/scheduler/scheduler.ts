/**
 * The scheduler: follows the cluster always, and decides while it leads.
 *
 * `follow/` fills the cluster state (`state/`), which puts waiting apps into the queue. The leader's loop takes them from there, decides
 * (`place/`), and binds them (`write/`). A standby follows the cluster as the leader does, so that it can take over at once. A leader
 * that loses its Lease forgets the binds that it had only assumed.
 */
import type { Hono } from "hono";
import { setTimeout as pause } from "node:timers/promises";
import { defaultSchedulerName, electionLease, systemNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { lead, type LeaderOptions, type Leadership } from "../kube/leader.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { maxBinds } from "./client.ts";
import { createFollowers, type Followers } from "./follow/follow.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import { runLoop } from "./loop.ts";
import { createLossKeeper, createObservedClock } from "./node-loss/node-loss.ts";
import { seededRandom } from "./place/place.ts";
import { SchedulingQueue } from "./queue/queue.ts";
import {
  createSchedulerApp,
  createSchedulerMetrics,
  missingRights,
  type SchedulerMetrics,
} from "./serve/serve.ts";
import { ClusterState, type NodeLiveness } from "./state/state.ts";
import type { Policy } from "./types.ts";
import {
  createBinder,
  createDeferredWork,
  createEvictor,
  createQuotaKeeper,
  createStatusWriter,
} from "./write/write.ts";

export interface SchedulerOptions {
  client: KubeClient;
  log: Logger;
  version: string;
  /** Identifies this scheduler in the election; must be unique. */
  identity: string;
  schedulerName: string;
  policy: Policy;
  /** False: decide without an election. No app is bound twice, since binds are conditional, but two schedulers may overcommit a node. */
  leaderElect: boolean;
  /** Overrides the times of the election: 15 s, 10 s and 2 s. */
  election?: Pick<LeaderOptions, "leaseSeconds" | "renewDeadlineMs" | "retryMs">;
  /** The number of binds in flight at the same time; by default 16. */
  bindPlaces?: number;
  /** How long an app stays bound to a lost node, unless its tolerations say otherwise. */
  defaultTolerationMs?: number;
  /** How long a node may be silent before it is lost; by default as long as its Lease lasts, 40 s. */
  nodeGraceMs?: number;
  /** Starts the HTTP endpoint; without it there is none. */
  serve?: (app: Hono) => Promise<{ close(): Promise<void> }>;
  /** Seeds the choice among nodes of equal score. */
  seed?: number;
  tickMs?: number;
}

/** How long the leader waits at its end for the last events to be sent. */
const lastEventsMs = 2000;

export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { client, log, schedulerName, nodeGraceMs, identity, leaderElect, tickMs = 1000 } = options;
  const observedClock = createObservedClock();
  const clocks = () => ({ observed: observedClock.now(), wall: Date.now() });
  const cluster = new ClusterState({ schedulerName, clocks, nodeGraceMs });
  const queue = new SchedulingQueue();
  const inbox = createInbox(cluster, queue);
  const followers = createFollowers(client, cluster, log, () => inbox.notify());
  const metrics = createSchedulerMetrics();
  const random = seededRandom(options.seed ?? Date.now());
  let leader: Leader | undefined;

  const tick = () => {
    observedClock.tick(followers.seesLeases);
    if (!followers.ready) return;
    const nodes = cluster.liveness.check();
    cluster.removeOverdue();
    leader?.tick(nodes);
  };

  const work = async (leadership: Leadership) => {
    while (!followers.ready && !leadership.signal.aborted) await inbox.wait(1000, leadership.signal);
    const current = createLeader({ options, cluster, queue, inbox, followers, metrics, random }, leadership);
    leader = current;
    try {
      await current.run();
    } finally {
      leader = undefined;
      await current.close();
    }
  };

  const gauges = () => ({
    leader: leader !== undefined,
    queues: queue.sizes,
    nodes: countNodes(cluster),
    apps: cluster.apps.size,
  });
  const server = await options.serve?.(createSchedulerApp({
    version: options.version,
    identity,
    startedAt: new Date(),
    followers: () => followers.states,
    gauges,
    metrics: () => metrics.render(gauges()),
  }));

  // If one part fails, all end: half a scheduler is worse than none.
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const name = electionLease(schedulerName);
  const election = { ...options.election, namespace: systemNamespace, name, identity, log };
  const parts = [
    followers.run(until),
    repeat(tickMs, tick, until),
    leaderElect
      ? lead(client, election, work, until)
      : work({ signal: until, isLeader: () => !until.aborted }),
    ...(leaderElect && schedulerName !== defaultSchedulerName ? [warnOfMissingRights(options, until)] : []),
  ];
  try {
    await Promise.all(parts);
  } finally {
    failed.abort();
    await Promise.allSettled(parts);
    await server?.close();
  }
}

interface Leader {
  /** Called once a second, with the health of all nodes. */
  tick(nodes: NodeLiveness[]): void;
  run(): Promise<void>;
  close(): Promise<void>;
}

interface LeaderParts {
  options: SchedulerOptions;
  cluster: ClusterState;
  queue: SchedulingQueue;
  inbox: Inbox;
  followers: Followers;
  metrics: SchedulerMetrics;
  random: () => number;
}

/** Connects the loop to everything that writes. */
function createLeader(parts: LeaderParts, { signal, isLeader: mayWrite }: Leadership): Leader {
  const { options, cluster, queue, inbox, followers, metrics, random } = parts;
  const { client, log, identity, schedulerName, policy, bindPlaces = maxBinds, defaultTolerationMs } =
    options;
  const recorder = createEventRecorder({ client, component: schedulerName, node: identity, log });
  const writer = createStatusWriter({
    client,
    log,
    signal,
    lookup: (key) => cluster.apps.get(key),
    apply: (object) => cluster.apps.applyAnswer(object),
    gone: (key, uid) => cluster.apps.remove(key, uid),
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
  return {
    tick(nodes) {
      // While the Leases cannot be watched, nothing is known about the nodes.
      if (followers.seesLeases) losses.tick(nodes);
      quotas.tick();
    },
    async run() {
      await runLoop({ ...shared, queue, inbox, binder, evictor, policy, random, bindPlaces }, signal);
      // Binds in flight end with the signal; only then are all outcomes known.
      while (binder.inFlight > 0) await pause(10);
    },
    async close() {
      deferred.flush();
      await recorder.flush(lastEventsMs);
      recorder.close();
    },
  };
}

/** The installed roles name only the default scheduler's Lease: without its own role a scheduler of another name never leads. */
async function warnOfMissingRights(
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
    if (!signal.aborted) log.debug("cannot check the permissions of this scheduler", { error });
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
