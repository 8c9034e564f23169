/**
 * Evicts apps from a node for a drain, as soon as their budgets allow it.
 *
 * Guarantee: what this drain has evicted or unbound counts against PodDisruptionBudgets and `maxUnavailable` of sets until their status
 * or the app shows it. Caveat: what another client evicts within the same instant does not.
 */
import { keyOf, podMirrorAnnotation } from "../../api/names.ts";
import { readBudget } from "../../api/placement/placement.ts";
import type { NCApp, NCAppSet } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf, writeNewest } from "../../kube/guarded-write.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import {
  disruptionBudgets,
  type KubeResource,
  ncapps,
  ncappsets,
  pods,
  resourcePath,
} from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import type { KubeObject } from "../../kube/wire.ts";
import { sleep } from "../../lib/sleep.ts";
import { type BudgetView, countBudgets, type Moved } from "./drain-plan.ts";

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
  const told = new Map<string, string>();
  const moved = new Map<string, Moved>();
  let waiting = [...apps];
  while (waiting.length > 0) {
    const found = await readPods(client, node);
    const world = await readBudgets(client, waiting);
    const budgets = countBudgets({ ...world, node, moved, now: Date.now() });
    const next: NCApp[] = [];
    for (const app of waiting) {
      const pod = found.find((pod) => isPodOf(pod, app));
      const why = budgets.refuses(app) ?? await evict(client, app, pod, node);
      if (why === undefined) {
        print(`evicting ncapp ${keyOf(app)}`);
        budgets.spend(app);
        moved.set(app.metadata.uid ?? "", { at: Date.now(), hadPod: pod !== undefined });
      } else {
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
    await sleep(2 * pollMs, signal);
  }
}

async function readPods(client: KubeClient, node: string): Promise<Pod[]> {
  return (await listAll<Pod>(client, { resource: pods, fieldSelector: `spec.nodeName=${node}` })).items;
}

/** Returns the sets, apps and budgets of the namespaces of these apps. */
async function readBudgets(
  client: KubeClient,
  apps: readonly NCApp[],
): Promise<Pick<BudgetView, "sets" | "apps" | "budgets">> {
  const namespaces = [...new Set(apps.map(({ metadata }) => metadata.namespace ?? ""))];
  const listed = async <T extends KubeObject>(resource: KubeResource) =>
    (await Promise.all(namespaces.map((namespace) => listAll<T>(client, { resource, namespace }))))
      .flatMap(({ items }) => items);
  const ifServed = <T extends KubeObject>(resource: KubeResource) =>
    listed<T>(resource).catch((error): T[] => {
      if (!hasStatus(error, 404)) throw error;
      return [];
    });
  // Servers before 1.21 have only an older version of budgets; theirs count through evictions alone.
  const budgets = await ifServed<KubeObject & Parameters<typeof readBudget>[0]>(disruptionBudgets);
  // NCAppSets are not installed everywhere.
  const sets = await ifServed<NCAppSet & KubeObject>(ncappsets);
  // The apps come last: what happened since shows in them, and not in the older status of a budget.
  return { budgets: budgets.map(readBudget), sets, apps: await listed<NCApp & KubeObject>(ncapps) };
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
 * Returns why it must wait.
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
      // It is gone, or another Pod has its name: the next round reads it again.
      if (hasStatus(error, 404) || hasStatus(error, 409)) return "its Pod is being replaced";
      throw error;
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
