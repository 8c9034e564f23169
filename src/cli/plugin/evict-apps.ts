/** Evicts apps from a node for a drain, as soon as their budgets allow it. */
import { keyOf, ownerSet, podMirrorAnnotation } from "../../api/names.ts";
import type { NCApp, NCAppSet } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf, writeNewest } from "../../kube/guarded-write.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncapps, ncappsets, pods, resourcePath } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import type { KubeObject } from "../../kube/wire.ts";
import { sleep } from "../../lib/sleep.ts";
import { createSetBudgets } from "./drain-plan.ts";

/** A person waits, and a busy server may be slow. */
export const requestMs = 30_000;
const evictionMs = 9000;

export interface EvictionParts {
  node: string;
  print(text: string): void;
  stderr(text: string): void;
  giveUpAt: number;
  timeoutMs: number;
  pollMs: number;
  signal: AbortSignal;
}

/** Evicts each app as soon as its budgets allow it. */
export async function evictAll(
  client: KubeClient,
  apps: readonly NCApp[],
  parts: EvictionParts,
): Promise<void> {
  if (apps.length === 0) return;
  const { node, print, stderr, giveUpAt, timeoutMs, pollMs, signal } = parts;
  const { items: found } = await listAll<Pod>(client, {
    resource: pods,
    fieldSelector: `spec.nodeName=${node}`,
  });
  const podOf = (app: NCApp) => found.find((pod) => isPodOf(pod, app));
  const told = new Map<string, string>();
  let waiting = [...apps];
  while (waiting.length > 0) {
    const refusedBySet = createSetBudgets(...await readSets(client, waiting));
    const next: NCApp[] = [];
    for (const app of waiting) {
      const why = refusedBySet(app) ?? await evict(client, app, podOf(app), node);
      if (why === undefined) print(`evicting ncapp ${keyOf(app)}`);
      else {
        next.push(app);
        if (told.get(keyOf(app)) !== why) stderr(`waiting to evict ncapp ${keyOf(app)}: ${why}\n`);
        told.set(keyOf(app), why);
      }
    }
    waiting = next;
    if (waiting.length === 0) return;
    if (signal.aborted || Date.now() >= giveUpAt) {
      const rest = waiting.map((app) => `${keyOf(app)} (${told.get(keyOf(app))})`).join(", ");
      const why = signal.aborted ? "interrupted" : `timed out after ${timeoutMs / 1000} s`;
      throw new Error(`${why}: node ${node} is not drained: cannot evict ${rest}`);
    }
    await sleep(Math.max(pollMs, 1000), signal);
  }
}

/** Returns the sets of these apps, and all apps of their namespaces. */
async function readSets(client: KubeClient, apps: readonly NCApp[]): Promise<[NCAppSet[], NCApp[]]> {
  const owned = apps.filter((app) => ownerSet(app));
  const keys = new Map(owned.map((app) => [
    `${app.metadata.namespace}/${ownerSet(app)!.name}`,
    { namespace: app.metadata.namespace ?? "", name: ownerSet(app)!.name },
  ]));
  const objects = objectsOf<NCAppSet>(client, ncappsets, { timeoutMs: requestMs });
  const sets = await Promise.all([...keys.values()].map((key) => objects.read(key)));
  const namespaces = [...new Set([...keys.values()].map(({ namespace }) => namespace))];
  const lists = await Promise.all(
    namespaces.map((namespace) => listAll<NCApp>(client, { resource: ncapps, namespace })),
  );
  return [sets.filter((set) => set !== undefined), lists.flatMap(({ items }) => items)];
}

type Pod = KubeObject & {
  metadata: {
    namespace: string;
    name: string;
    uid: string;
    annotations?: Record<string, string>;
    ownerReferences?: { uid: string }[];
  };
};

function isPodOf({ metadata }: Pod, app: NCApp): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === app.metadata.uid) ?? false;
}

/**
 * Evicts the Pod of the app, which has the agent and the scheduler move it, or asks only whether that is allowed and unbinds the app.
 * Returns why a budget refuses it.
 */
async function evict(
  client: KubeClient,
  app: NCApp,
  pod: Pod | undefined,
  node: string,
): Promise<string | undefined> {
  if (pod) {
    const isMirror = pod.metadata.annotations?.[podMirrorAnnotation] !== undefined;
    const { namespace, name, uid } = pod.metadata;
    const send = (version: string) =>
      client.request({
        method: "POST",
        path: resourcePath(pods, { namespace, name, subresource: "eviction" }),
        // Less than the server asks to wait before the next attempt: the client would wait instead of the other apps' turn.
        timeoutMs: evictionMs,
        body: {
          apiVersion: `policy/${version}`,
          kind: "Eviction",
          metadata: { namespace, name },
          // The Pod of an app that was pinned is a mirror: its agent would only make it again.
          deleteOptions: { preconditions: { uid }, ...(isMirror ? { dryRun: ["All"] } : {}) },
        },
        ...(isMirror ? { query: { dryRun: "All" } } : {}),
      });
    try {
      // Servers before 1.22 know only the older version.
      await send("v1").catch((error) => hasStatus(error, 400) ? send("v1beta1") : Promise.reject(error));
      if (!isMirror) return undefined;
    } catch (error) {
      if (hasStatus(error, 429)) return (error as Error).message;
      // It is gone, or another Pod has its name.
      if (!hasStatus(error, 404) && !hasStatus(error, 409)) throw error;
    }
  }
  await unbind(client, app, node);
  return undefined;
}

/** Unbinds the app from this node, and from no other that a scheduler may have chosen in the meantime. */
async function unbind(client: KubeClient, app: NCApp, node: string): Promise<void> {
  const objects = appsOf(client);
  // A running app's status changes every few seconds.
  await writeNewest<NCApp, void>(app, {
    read: () => objects.read(app.metadata),
    async write(newest) {
      if (newest?.metadata.uid !== app.metadata.uid || newest?.spec.nodeName !== node) return;
      await objects.patch(newest.metadata, { spec: { nodeName: null } });
    },
  });
}

export function appsOf(client: KubeClient) {
  return objectsOf<NCApp>(client, ncapps, { timeoutMs: requestMs });
}
