/**
 * The scheduler, one of the controllers: follows the cluster always, and decides while it leads.
 *
 * `follow/` fills the cluster state (`state/`), which puts waiting apps into the queue. The leader's loop takes them from there, decides
 * (`place/`), and binds them (`write/`). A standby follows the cluster as the leader does, so that it can take over at once. A leader
 * that loses its Lease forgets the binds that it had only assumed.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { KubeClient } from "../kube/client/client.ts";
import type { Controller } from "../kube/controller.ts";
import type { Followers, Hub } from "../kube/follower.ts";
import type { Leadership } from "../kube/leader.ts";
import { createObservedClock } from "../kube/observed-clock.ts";
import { leases } from "../kube/resources.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { maxBinds } from "./client.ts";
import { followCluster } from "./follow/follow.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import { runLoop } from "./loop.ts";
import { createSchedulerMetrics, type SchedulerMetrics } from "./metrics.ts";
import { createNodeLossHandler, createNodePresences } from "./node-loss/node-loss.ts";
import { isOverQuota } from "./namespaces/namespaces.ts";
import { SchedulingQueue } from "./queue/queue.ts";
import { ClusterState, type NodeLiveness } from "./state/state.ts";
import type { Policy, SchedulerApp } from "./types.ts";
import {
  createAppWrites,
  createBinder,
  createDeferredWork,
  createDisruptions,
  createEvictor,
  createFinalizerWriter,
  createPodRelease,
  createQuotaWriter,
  createRuleReporter,
  createStatusWriter,
} from "./write/write.ts";

export interface SchedulerOptions {
  client: KubeClient;
  log: Logger;
  hub: Hub;
  /** The source of its events. */
  identity: string;
  schedulerName: string;
  policy: Policy;
  /** The number of binds in flight at the same time; by default 16. */
  maxBindsInFlight?: number;
  /** How long an app stays bound to a lost node, unless its tolerations say otherwise. */
  defaultTolerationMs?: number;
  /** How long a node may be silent before it is lost; by default as long as its Lease lasts, 40 s. */
  nodeGraceMs?: number;
  tickMs?: number;
}

/** How long the leader waits at its end for the last events to be sent. */
const lastEventsMs = 2000;

export function createSchedulerController(options: SchedulerOptions): Controller {
  const { schedulerName, nodeGraceMs, tickMs = 1000 } = options;
  const observedClock = createObservedClock();
  const clocks = () => ({ observed: observedClock.now(), wall: Date.now() });
  const cluster = new ClusterState({ schedulerName, clocks, nodeGraceMs });
  const queue = new SchedulingQueue();
  const inbox = createInbox(cluster, queue);
  const followers = followCluster(options.hub, cluster, () => inbox.notify());
  const metrics = createSchedulerMetrics();
  let leader: Leader | undefined;

  const tick = () => {
    observedClock.tick(followers.sees(leases));
    if (!followers.ready) return;
    const nodes = cluster.liveness.check();
    cluster.removeOverdue();
    leader?.tick(nodes, cluster.apps.takeGrown());
  };

  const gauges = () => ({
    leader: leader !== undefined,
    queues: queue.sizes,
    nodes: countNodes(cluster),
    apps: cluster.apps.size,
    namespacesOverQuota: countOverQuota(cluster),
  });

  return {
    name: "scheduler",
    async follow(signal) {
      await Promise.all([followers.run(signal), repeat(tickMs, tick, signal)]);
    },
    async lead(leadership) {
      while (!followers.ready && !leadership.signal.aborted) await inbox.wait(1000, leadership.signal);
      const observed = () => observedClock.now();
      const parts = { options, cluster, queue, inbox, followers, metrics, observed };
      const current = createLeader(parts, leadership);
      leader = current;
      try {
        await current.run();
      } finally {
        leader = undefined;
        await current.close();
      }
    },
    followers: () => followers.states,
    metrics: () => metrics.render(gauges()),
    status() {
      const { queues, nodes, apps } = gauges();
      return { queues, nodes, apps };
    },
  };
}

interface Leader {
  /** Called once a second, with the health of all nodes and the apps that count with more than before. */
  tick(nodes: NodeLiveness[], grown: SchedulerApp[]): void;
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
  /** Milliseconds during which the Leases could be watched. */
  observed: () => number;
}

/** Connects the loop to everything that writes. */
function createLeader(parts: LeaderParts, { signal, isLeader: mayWrite }: Leadership): Leader {
  const { options, cluster, queue, inbox, followers, metrics, observed } = parts;
  const { client, log, identity, schedulerName, policy, maxBindsInFlight = maxBinds, defaultTolerationMs } =
    options;
  const recorder = createEventRecorder({ client, component: schedulerName, node: identity, log });
  const writes = createAppWrites(client, cluster, signal);
  const writer = createStatusWriter({ writes, log, signal, lookup: (key) => cluster.apps.get(key) });
  const shared = { writes, log, cluster, writer, recorder, metrics, mayWrite, signal };
  const isBusy = () => binder.inFlight > 0 || queue.sizes.active > 0;
  const deferred = createDeferredWork({ isBusy, signal });
  const deferredEvents = createDeferredWork({ isBusy, signal, delayMs: 0 });
  const binder = createBinder({
    ...shared,
    deferred,
    deferredEvents,
    onUnbound: (key) => queue.retryLater(key),
  });
  const evictor = createEvictor({
    ...shared,
    onNodeEviction: (key) => queue.delayEvicted(key),
    releasePod: createPodRelease(client, shared),
  });
  const presences = createNodePresences({ observed, defaultTolerationMs });
  const handleLosses = createNodeLossHandler({ ...shared, evictor, presences, defaultTolerationMs });
  const holds = createFinalizerWriter({ ...shared, presenceOf: presences.of });
  const disruptions = createDisruptions({ cluster, evictor });
  cluster.onAppChanged = (app) => {
    holds.check(app);
    disruptions.check(app);
  };
  const writeQuotas = createQuotaWriter(client, shared);
  const reportRules = createRuleReporter(shared);
  return {
    tick(nodes, grown) {
      handleLosses(followers.sees(leases) ? nodes : undefined);
      holds.tick();
      disruptions.tick();
      writeQuotas();
      reportRules(grown);
    },
    async run() {
      await runLoop({ ...shared, queue, inbox, binder, evictor, policy, maxBindsInFlight }, signal);
      // Binds in flight end with the signal; only then are all outcomes known.
      while (binder.inFlight > 0) await pause(10);
    },
    async close() {
      cluster.onAppChanged = () => {};
      deferred.flush();
      deferredEvents.flush();
      await recorder.flush(lastEventsMs);
      recorder.close();
    },
  };
}

async function repeat(ms: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await sleep(ms, signal);
  }
}

function countOverQuota({ rules, accounts }: ClusterState): number {
  const quotas = [...rules.allQuotas()];
  const over = quotas.filter((quota) => isOverQuota(quota, accounts.usage.of(quota.namespace)));
  return new Set(over.map(({ namespace }) => namespace)).size;
}

function countNodes({ snapshot }: ClusterState): Record<string, number> {
  const counts = { fresh: 0, stale: 0, none: 0 };
  for (const { agent } of snapshot.nodes) counts[agent]++;
  return counts;
}
