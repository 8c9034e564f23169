/**
 * `kubectl ncapp drain NODE`: cordons a node and moves its apps away, as `kubectl drain` does with Pods, also where apps have none. The
 * Pod of an app is evicted, so that PodDisruptionBudgets count, and `maxUnavailable` of its set counts, too. The app is unbound: its agent
 * stops it with its grace period, and the scheduler places it on another node.
 */
import { keyOf } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { ncapps, nodes } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import type { KubeObject } from "../../kube/wire.ts";
import { sleep } from "../../lib/sleep.ts";
import { type Command, type Io, textFlag, UsageError } from "../command.ts";
import { parseDuration } from "../flag-values.ts";
import { clusterFlags, connectAsKubectl } from "./cluster-apps.ts";
import { isHeldBy, planDrain } from "./drain-plan.ts";
import { appsOf, evictAll, requestMs } from "./evict-apps.ts";

const { namespace: _, ...connectionFlags } = clusterFlags;

export const drainCommand: Command = {
  operands: "NODE",
  flags: {
    "dry-run": { help: "Only print what would be done." },
    force: { help: "Also unbind apps whose spec.nodeName was not set by the scheduler." },
    timeout: { value: "TIME", help: "How long to wait until the apps have stopped.", default: "no limit" },
    ...connectionFlags,
  },
  examples: [
    "kubectl ncapp drain edge-1",
    "kubectl ncapp drain edge-1 --dry-run",
    "kubectl drain edge-1 --ignore-daemonsets && kubectl ncapp drain edge-1 --timeout 5m",
  ],
  async run(invocation, io) {
    const [node, extra] = invocation.args;
    if (!node || extra !== undefined) throw new UsageError("name one node");
    const timeout = textFlag(invocation, "timeout");
    const timeoutMs = timeout === undefined ? Infinity : parseDuration("timeout", timeout);
    using cluster = await connectAsKubectl(invocation, io);
    const { "dry-run": dryRun, force } = invocation.flags;
    await drain(cluster.client, node, { dryRun: dryRun === true, force: force === true, timeoutMs }, io);
    return 0;
  },
};

export interface DrainOptions {
  dryRun?: boolean;
  force?: boolean;
  timeoutMs?: number;
  pollMs?: number;
}

/** Prints each step; throws if the node is not drained. */
export async function drain(
  client: KubeClient,
  node: string,
  { dryRun = false, force = false, timeoutMs = Infinity, pollMs = 500 }: DrainOptions,
  { stdout, stderr, signal }: Pick<Io, "stdout" | "stderr" | "signal">,
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  const print = (text: string) => stdout(`${text}${dryRun ? " (dry run)" : ""}\n`);

  // Cordoned first, so that no app is bound to it after the list.
  print(`node/${node} ${await cordon(client, node, dryRun) ? "cordoned" : "already cordoned"}`);
  const { items } = await listAll<NCApp>(client, { resource: ncapps });
  const here = items.filter((app) => app.spec.nodeName === node || isHeldBy(node, app));
  // Lists come without `managedFields`, which show who bound an app.
  const apps = await Promise.all(here.map(({ metadata }) => appsOf(client).read(metadata)));
  const plan = planDrain(apps.filter((app) => app !== undefined), node, { force });
  for (const { app, why } of plan.ignored) stderr(`warning: ignoring ${keyOf(app)}: ${why}\n`);
  if (plan.pinned.length > 0) {
    const list = plan.pinned.map(({ app, by }) => `${keyOf(app)} (spec.nodeName was set by ${by})`).join(
      ", ",
    );
    throw new Error(
      `cannot drain node ${node}: these apps are pinned to it: ${list}; use --force to unbind them`,
    );
  }
  if (dryRun) { for (const app of plan.evict) print(`evicting ncapp ${keyOf(app)}`); }
  else await evictAll(client, plan.evict, { node, print, stderr, giveUpAt, timeoutMs, pollMs, signal });
  const waiting = dryRun ? [] : [...plan.evict, ...plan.leaving];
  for (const [index, app] of waiting.entries()) {
    while (await isThere(client, app, node)) {
      if (signal.aborted || Date.now() >= giveUpAt) {
        const rest = waiting.slice(index).map(keyOf).join(", ");
        const why = signal.aborted ? "interrupted" : `timed out after ${timeoutMs / 1000} s`;
        throw new Error(`${why}: node ${node} is not drained: waiting for ${rest} to stop`);
      }
      await sleep(pollMs, signal);
    }
    print(`ncapp ${keyOf(app)} evicted`);
  }
  print(`node/${node} drained`);
}

/** Returns false if the node was cordoned already. */
async function cordon(client: KubeClient, name: string, dryRun: boolean): Promise<boolean> {
  const objects = objectsOf<KubeObject & { spec?: { unschedulable?: boolean } }>(client, nodes, {
    timeoutMs: requestMs,
  });
  const node = await objects.read({ name });
  if (!node) throw new Error(`no Node ${name}; 'kubectl get nodes' lists all`);
  if (node.spec?.unschedulable) return false;
  if (!dryRun) await objects.patch({ name }, { spec: { unschedulable: true } });
  return true;
}

/** Reports whether the app is still bound to the node, or its processes may exist there. */
async function isThere(client: KubeClient, { metadata }: NCApp, node: string): Promise<boolean> {
  const current = await appsOf(client).read(metadata);
  if (current?.metadata.uid !== metadata.uid) return false;
  return current?.spec.nodeName === node || isHeldBy(node, current!);
}
