/**
 * Has parked apps tried again that an event helps, and only those: each is held against the node or the quota that changed. Of many
 * that wait for the same room as many are woken as find room, so that one app that ends does not have a thousand tried in vain.
 */
import type { ClusterEvent, Policy, SchedulerApp } from "./types.ts";
import { applyLimits, quotaProblem } from "./namespaces/namespaces.ts";
import type { NodeEntry } from "./node-entry.ts";
import { fits, victimsOn } from "./place/place.ts";
import type { SchedulingQueue, Waiting } from "./queue/queue.ts";
import type { ClusterState } from "./state/state.ts";

/** Events since the last look, each with the nodes, namespaces or apps that it is about. */
export type EventSubjects = Map<ClusterEvent, Set<string>>;

/** With more changed nodes than this, trying is cheaper than looking. */
const maxNodes = 64;

/** Wakes who may have a chance now. */
export function requeueUnblocked(
  queue: SchedulingQueue,
  cluster: ClusterState,
  events: EventSubjects,
  policy: Policy,
): void {
  if (queue.sizes.parked === 0) return;
  for (const key of events.get("left") ?? []) queue.wake(key, { certain: true });
  for (const event of ["node", "capacity"] as const) {
    const names = events.get(event);
    if (names) wakeForNodes(queue, cluster, queue.helpedBy(event), names, policy);
  }
  const inRules = (namespaces: Set<string>) => ({ key }: Waiting) =>
    namespaces.has(key.slice(0, key.indexOf("/")));
  const freed = events.get("quota");
  if (freed) wakeForQuota(queue, cluster, queue.helpedBy("quota").filter(inRules(freed)));
  const ruled = events.get("limitRange");
  if (ruled) { for (const { key } of queue.helpedBy("limitRange").filter(inRules(ruled))) queue.wake(key); }
}

function wakeForNodes(
  queue: SchedulingQueue,
  cluster: ClusterState,
  waiting: Waiting[],
  names: Set<string>,
  policy: Policy,
): void {
  if (waiting.length === 0) return;
  if (names.size > maxNodes) {
    for (const { key } of waiting) queue.wake(key);
    return;
  }
  const trials = [...names].flatMap((name) => {
    const node = cluster.snapshot.node(name);
    return node && node.index >= 0 ? [node.copy()] : [];
  });
  for (const { key } of waiting) {
    const app = asPlaced(key, cluster);
    if (!app) continue;
    const chance = tryOn(app, trials, cluster, policy);
    if (chance) queue.wake(key, { certain: chance === "fits" });
  }
}

function tryOn(
  app: SchedulerApp,
  trials: NodeEntry[],
  cluster: ClusterState,
  policy: Policy,
): "fits" | "maybe" | undefined {
  const fitTable = cluster.snapshot.fitCache.for(app.placement, policy);
  const possible = trials.filter((node) => fitTable.of(node) >= 0);
  const taken = possible.find((node) => fits(app, node));
  taken?.add(app);
  if (taken) return "fits";
  const canMakeRoom = (node: NodeEntry) => (victimsOn(app, node) ?? []).length > 0;
  return app.preempts && possible.some(canMakeRoom) ? "maybe" : undefined;
}

function wakeForQuota(queue: SchedulingQueue, cluster: ClusterState, waiting: Waiting[]): void {
  const used = new Map<string, { cpu: number; mem: number }>();
  for (const { key } of waiting) {
    const app = asPlaced(key, cluster);
    if (!app) continue;
    const sum = used.get(app.namespace) ?? cluster.accounts.usage.of(app.namespace);
    used.set(app.namespace, sum);
    if (quotaProblem(app, cluster.rules.quotas(app.namespace), sum)) continue;
    sum.cpu += app.cpu;
    sum.mem += app.mem;
    queue.wake(key, { certain: true });
  }
}

/** The app with the caps that it would have. */
function asPlaced(key: string, cluster: ClusterState): SchedulerApp | undefined {
  const app = cluster.app(key);
  const limited = app && applyLimits(app, cluster.rules.limits(app.namespace));
  return limited && "app" in limited ? limited.app : undefined;
}
