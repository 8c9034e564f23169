/**
 * Apps that are bound to this node while another one may still run them: `status.nodeName` names that node until its agent has stopped
 * them. They wait for that, or until that node's agent is gone: its Lease is missing, or was not renewed, for as long as it lasts.
 *
 * Clocks of other machines are not trusted: what counts is how long this agent has seen the Lease unchanged. A Lease that cannot be
 * read proves nothing. Nor does one that has just been deleted, as with its Node: a living agent creates it again within seconds.
 */
import { agentLease, keyOf, leaseNamespace } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectsOf } from "../kube/guarded-write.ts";
import { hasExpired, type Lease, lookAtLease, type SeenLease } from "../kube/lease.ts";
import { leases } from "../kube/resources.ts";
import { sleep } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";

export interface HeldApps {
  /** Returns the node that the app has to wait for. */
  heldBy(app: NCApp): string | undefined;
  remove(key: string): void;
  /** Only these apps exist. */
  retain(apps: NCApp[]): void;
}

export interface HeldAppsOptions {
  node: string;
  /** The agent that held this app is gone: it need not wait any longer. */
  onFreed: (app: NCApp) => void;
  signal: AbortSignal;
  periodMs?: number;
  now?: () => number;
}

export function createHeldApps(client: KubeClient, options: HeldAppsOptions): HeldApps {
  const { node, onFreed, signal, periodMs = 5000, now = steadyNow } = options;
  const isAlive = createLeaseCheck(client, now);
  const waiting = new Map<string, { app: NCApp; holder: string; freed: boolean }>();
  let checking = false;

  const check = async () => {
    const unfreed = () => [...waiting.values()].filter(({ freed }) => !freed);
    for (let held = unfreed(); held.length > 0 && !signal.aborted; held = unfreed()) {
      for (const holder of new Set(held.map(({ holder }) => holder))) {
        if (await isAlive(holder, signal) || signal.aborted) continue;
        for (const entry of unfreed().filter((entry) => entry.holder === holder)) {
          entry.freed = true;
          onFreed(entry.app);
        }
      }
      await sleep(periodMs, signal);
    }
    checking = false;
  };

  return {
    heldBy(app) {
      const key = keyOf(app);
      const holder = app.status?.nodeName;
      if (!holder || holder === node) return void waiting.delete(key);
      const before = waiting.get(key);
      const isSame = before?.holder === holder && before.app.metadata.uid === app.metadata.uid;
      const freed = isSame && before.freed;
      waiting.set(key, { app, holder, freed });
      if (!checking) {
        checking = true;
        void check();
      }
      return freed ? undefined : holder;
    },
    remove: (key) => void waiting.delete(key),
    retain(apps) {
      const keys = new Set(apps.map(keyOf));
      for (const key of waiting.keys()) if (!keys.has(key)) waiting.delete(key);
    },
  };
}

/** Returns a function that reads the Lease of a node's agent and reports whether the agent may be alive. */
function createLeaseCheck(
  client: KubeClient,
  now: () => number,
): (node: string, signal: AbortSignal) => Promise<boolean> {
  const seen = new Map<string, SeenLease>();
  const objects = objectsOf<Lease>(client, leases);
  return async (node, signal) => {
    try {
      const lease = await objects.read({ namespace: leaseNamespace, name: agentLease(node) }, { signal });
      const looked = lookAtLease(seen.get(node), lease, now());
      seen.set(node, looked);
      return !hasExpired(looked, now());
    } catch {
      return true;
    }
  };
}
