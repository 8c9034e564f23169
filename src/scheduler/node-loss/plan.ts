/**
 * Plans what to do about apps on lost nodes and on nodes with NoExecute taints. Pure.
 *
 * An app on a lost node is marked Unknown at once and unbound after its toleration, 300 s by default. If more than half of the nodes
 * are lost, the network is more likely broken than the nodes, and no app is unbound.
 */
import { isMovable, type NodeLiveness } from "../state/state.ts";
import type { NodeEntry } from "../node-entry.ts";
import { formatTaint, tolerationMs, unreachableKeys } from "../tolerations.ts";
import type { SchedulerApp, Taint } from "../types.ts";

export type LossAction =
  | { kind: "mark"; app: SchedulerApp; message: string }
  | { kind: "unbind"; app: SchedulerApp; reason: "NodeLost" | "TaintEviction"; message: string };

export interface LossPlan {
  actions: LossAction[];
  lost: string[];
  /** Too many nodes are lost to unbind apps. */
  paused: boolean;
}

export interface LossOptions {
  now: number;
  defaultTolerationMs?: number;
}

/** Taints that Kubernetes adds to a Node whose kubelet is silent. They are ignored: the agent's own Lease counts. */
const kubeletTaints: readonly string[] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];
const unreachable = unreachableKeys.map((key): Taint => ({ key, effect: "NoExecute" }));

export function planNodeLoss(nodes: Iterable<NodeLiveness>, options: LossOptions): LossPlan {
  const { now, defaultTolerationMs = 300_000 } = options;
  const all = [...nodes].filter(({ health }) => health !== undefined);
  const lost = all.filter(({ health }) => health?.state === "lost");
  const paused = lost.length * 2 > all.length;
  const actions: LossAction[] = [];
  for (const { node, health } of all) {
    const taints = node.properties.taints.filter(evicts);
    if (health?.state !== "lost" && taints.length === 0) continue;
    for (const app of node.apps.values()) {
      const action = health?.state === "lost"
        ? afterLoss(app, node, health, paused, defaultTolerationMs)
        : afterTaints(app, node, taints, now);
      if (action) actions.push(action);
    }
  }
  return { actions, lost: lost.map(({ node }) => node.name), paused };
}

function afterLoss(
  app: SchedulerApp,
  node: NodeEntry,
  { silentMs, lostMs }: { silentMs: number; lostMs: number },
  paused: boolean,
  defaultMs: number,
): LossAction | undefined {
  const message = `node ${node.name} has not reported for ${Math.round(silentMs / 1000)} s`;
  const toleratedMs = tolerationMs(app.placement.tolerations, unreachable) ?? defaultMs;
  if (lostMs >= toleratedMs && !paused && isMovable(app)) {
    return { kind: "unbind", app, reason: "NodeLost", message };
  }
  return app.status.phase === "Unknown" ? undefined : { kind: "mark", app, message };
}

function evicts({ effect, key }: Taint): boolean {
  return effect === "NoExecute" && !kubeletTaints.includes(key);
}

function afterTaints(
  app: SchedulerApp,
  node: NodeEntry,
  taints: readonly Taint[],
  now: number,
): LossAction | undefined {
  if (!isMovable(app)) return undefined;
  for (const taint of taints) {
    const toleratedMs = tolerationMs(app.placement.tolerations, [taint]) ?? 0;
    if (now - (taint.since ?? now) < toleratedMs) continue;
    const message = `node ${node.name} has the taint ${formatTaint(taint)}, which the app does not tolerate`;
    return { kind: "unbind", app, reason: "TaintEviction", message };
  }
  return undefined;
}
