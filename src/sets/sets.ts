/**
 * The sets controller: runs the apps of NCAppSets and rolls out their revisions.
 *
 * It follows the cluster always (`follow.ts` fills `store.ts` and `nodes.ts`) and acts while it leads. `queue.ts` holds the keys of sets
 * that something changed for; `reconcile.ts` takes one, looks at the cluster, plans (`plan/`), and writes (`write.ts`).
 *
 * Guarantees: everything that a plan depends on is in the API server, so a controller that is killed at any point is replaced by
 * one that goes on within the same budget. A new leader first reads all apps of sets: what its predecessor wrote last may not have
 * reached it yet.
 */
import { setLabels } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Controller } from "../kube/controller.ts";
import type { Hub } from "../kube/follower.ts";
import type { Leadership } from "../kube/leader.ts";
import { createObservedClock } from "../kube/observed-clock.ts";
import { leases, ncapps } from "../kube/resources.ts";
import { listAll } from "../kube/watch/watch.ts";
import { createBackoff } from "../lib/backoff.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { followSets } from "./follow.ts";
import { renderSetsMetrics } from "./metrics.ts";
import { createNodes } from "./nodes.ts";
import { createSetQueue } from "./queue.ts";
import { reconcile } from "./reconcile.ts";
import { slim } from "./slim.ts";
import { createStore, keyOf } from "./store.ts";
import type { App } from "./types.ts";
import { createSetWriter } from "./write.ts";

export interface SetsOptions {
  client: KubeClient;
  log: Logger;
  hub: Hub;
  /** Identifies this process in events. */
  identity: string;
  /** How long a node may be silent before it is lost; by default as long as its Lease lasts, 40 s. */
  nodeGraceMs?: number;
  tickMs?: number;
  /** Changes of a set within this time are planned together. */
  settleMs?: number;
}

const component = "nckubelet-sets";
/** How long the leader waits at its end for the last events to be sent. */
const lastEventsMs = 2000;

export function createSetsController(options: SetsOptions): Controller {
  const { client, log, hub, identity, nodeGraceMs, tickMs = 1000, settleMs = 100 } = options;
  const observed = createObservedClock();
  const clocks = () => ({ observed: observed.now(), wall: Date.now() });
  /** Tells the leader's queue that a set may have changed. */
  let onSet: (key: string) => void = () => {};
  const store = createStore((key) => onSet(key));
  const tellAll = () => {
    for (const set of store.sets.values()) onSet(keyOf(set));
  };
  const nodes = createNodes(clocks, tellAll, nodeGraceMs);
  const onBudget = (namespace: string) => {
    for (const set of store.sets.values()) if (set.metadata.namespace === namespace) onSet(keyOf(set));
  };
  const followers = followSets(hub, { store, nodes, onBudget });
  let leading = false;

  const lead = async ({ signal, isLeader }: Leadership) => {
    while (!followers.ready && !signal.aborted) await sleep(50, signal);
    await readOwnApps(signal);
    if (signal.aborted) return;
    const recorder = createEventRecorder({ client, component, node: identity, log });
    const parts = {
      store,
      nodes: nodes.all,
      recorder,
      writer: createSetWriter(client, store, signal),
      statusAt: new Map(),
      turns: new Map(),
      mayWrite: () => isLeader() && !signal.aborted,
      now: Date.now,
    };
    const queue = createSetQueue({
      async reconcile(key) {
        const set = store.sets.get(key);
        return set && parts.mayWrite() ? await reconcile(set, parts) : undefined;
      },
      settleMs,
      log,
    });
    onSet = queue.add;
    tellAll();
    leading = true;
    try {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    } finally {
      leading = false;
      onSet = () => {};
      queue.close();
      await recorder.flush(lastEventsMs);
      recorder.close();
    }
  };

  /** Reads the apps of all sets, and forgets those that are gone. */
  const readOwnApps = async (signal: AbortSignal) => {
    const backoff = createBackoff({ initialMs: 500, maxMs: 10_000, jitter: 0.5 });
    while (!signal.aborted) {
      try {
        const labelSelector = setLabels.revision;
        const { items, resourceVersion } = await listAll<App>(client, {
          resource: ncapps,
          labelSelector,
          slim,
          signal,
        });
        const isListed = ({ metadata }: App) => metadata.labels?.[setLabels.revision] !== undefined;
        return store.apps.replace(items, resourceVersion, { isListed });
      } catch (error) {
        if (!signal.aborted) log.warn("cannot list the apps of sets; retrying", { error });
      }
      await sleep(backoff.next(), signal);
    }
  };

  const tick = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      observed.tick(followers.sees(leases));
      if (followers.ready) nodes.check();
      await sleep(tickMs, signal);
    }
  };

  return {
    name: "sets",
    follow: async (signal) => void await Promise.all([followers.run(signal), tick(signal)]),
    lead,
    followers: () => followers.states,
    metrics: () => renderSetsMetrics(leading ? store.sets.values() : []),
    status: () => ({ sets: store.sets.size }),
  };
}
