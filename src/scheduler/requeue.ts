/**
 * Requeues parked apps that an event may unblock, and only those: each is checked against the node or the quota that changed. If many
 * apps wait for the same capacity, only as many are requeued as fit, so that the end of one app does not cause a thousand retries.
 */
import type { EventSubjects } from "./inbox.ts";
import { applyLimits, quotaProblem } from "./namespaces/namespaces.ts";
import type { NodeEntry } from "./node-entry.ts";
import { fits, rulesAmong, victimsOn } from "./place/place.ts";
import type { QueuedApp, SchedulingQueue } from "./queue/queue.ts";
import type { ClusterState } from "./state/state.ts";
import type { Policy, SchedulerApp } from "./types.ts";

/** With more changed nodes than this, requeuing all is cheaper than checking each app. */
const maxNodes = 64;

export function requeueUnblocked(
  queue: SchedulingQueue,
  cluster: ClusterState,
  events: EventSubjects,
  { policy, now }: { policy: Policy; now: number },
): void {
  if (queue.sizes.parked === 0) return;
  for (const key of events.get("stopped") ?? []) queue.wake(key, { certain: true });
  for (const event of ["node", "capacity"] as const) {
    const names = events.get(event);
    if (names) requeueForNodes(queue, cluster, queue.helpedBy(event), names, { policy, now });
  }
  const moved = events.get("apps");
  const isIn = (namespaces: Set<string>) => ({ key }: QueuedApp) =>
    namespaces.has(key.slice(0, key.indexOf("/")));
  if (moved) { for (const { key } of queue.helpedBy("apps").filter(isIn(moved))) queue.wake(key); }
  const freed = events.get("quota");
  if (freed) requeueForQuota(queue, cluster, queue.helpedBy("quota").filter(isIn(freed)));
  const changed = events.get("limitRange");
  if (changed) { for (const { key } of queue.helpedBy("limitRange").filter(isIn(changed))) queue.wake(key); }
}

function requeueForNodes(
  queue: SchedulingQueue,
  cluster: ClusterState,
  parked: QueuedApp[],
  names: Set<string>,
  options: { policy: Policy; now: number },
): void {
  if (parked.length === 0) return;
  if (names.size > maxNodes) {
    for (const { key } of parked) queue.wake(key);
    return;
  }
  const trials = [...names].flatMap((name) => {
    const node = cluster.snapshot.node(name);
    return node && node.index >= 0 ? [node.copy()] : [];
  });
  for (const { key } of parked) {
    const app = withLimits(key, cluster);
    if (!app) continue;
    const outcome = tryOn(app, trials, cluster, options);
    if (outcome) queue.wake(key, { certain: outcome === "fits" });
  }
}

/** Tries an app on copies of the nodes; where it fits, it stays, so that the next app finds less capacity. */
function tryOn(
  app: SchedulerApp,
  trials: NodeEntry[],
  cluster: ClusterState,
  { policy, now }: { policy: Policy; now: number },
): "fits" | "may preempt" | undefined {
  const fitTable = cluster.snapshot.fitCache.for(app.placement, policy);
  const candidates = trials.filter((node) => fitTable.of(node) >= 0);
  const rules = rulesAmong(app, cluster.snapshot, policy);
  const chosen = candidates.find((node) => fits(app, node, now, rules));
  chosen?.add(app);
  if (chosen) return "fits";
  const hasVictims = (node: NodeEntry) => (victimsOn(app, node, now, rules) ?? []).length > 0;
  return app.preempts && candidates.some(hasVictims) ? "may preempt" : undefined;
}

function requeueForQuota(queue: SchedulingQueue, cluster: ClusterState, parked: QueuedApp[]): void {
  const used = new Map<string, { cpu: number; mem: number }>();
  for (const { key } of parked) {
    const app = withLimits(key, cluster);
    if (!app) continue;
    const sum = used.get(app.namespace) ?? cluster.accounts.usage.of(app.namespace);
    used.set(app.namespace, sum);
    if (quotaProblem(app, cluster.rules.quotas(app.namespace), sum)) continue;
    sum.cpu += app.cpu;
    sum.mem += app.mem;
    queue.wake(key, { certain: true });
  }
}

/** Returns the app with the caps that it would have; undefined if a LimitRange refuses it. */
function withLimits(key: string, cluster: ClusterState): SchedulerApp | undefined {
  const app = cluster.apps.get(key);
  const limited = app && applyLimits(app, cluster.rules.limits(app.namespace));
  return limited && "app" in limited ? limited.app : undefined;
}
