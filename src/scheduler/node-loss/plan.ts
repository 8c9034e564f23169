/**
 * What follows from lost nodes and from taints that drive apps away. Pure.
 *
 * An app on a lost node is marked Unknown at once, and unbound after the time that it bears: 300 s unless its tolerations say otherwise.
 * When more than half of the nodes are lost, the network is more likely broken than the nodes, and nothing is unbound.
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
  /** Nodes that are lost; `paused`: so many that no app is unbound because of it. */
  lost: string[];
  paused: boolean;
}

export interface LossOptions {
  now: number;
  defaultTolerationMs?: number;
}

/** Taints that Kubernetes itself puts on a Node whose kubelet is silent: here the agent's own Lease counts. */
const kubeletTaints: readonly string[] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];
const unreachable = unreachableKeys.map((key): Taint => ({ key, effect: "NoExecute" }));

/** Looks at all nodes and says what is to be done about their apps. */
export function planNodeLoss(states: Iterable<NodeLiveness>, options: LossOptions): LossPlan {
  const { now, defaultTolerationMs = 300_000 } = options;
  const all = [...states].filter(({ health }) => health !== undefined);
  const lost = all.filter(({ health }) => health?.state === "lost");
  const paused = lost.length * 2 > all.length;
  const actions: LossAction[] = [];
  for (const { node, health } of all) {
    const taints = node.facts.taints.filter(drivesAway);
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
  const message = `node ${node.name} has not been heard of for ${Math.round(silentMs / 1000)} s`;
  const borneMs = tolerationMs(app.placement.tolerations, unreachable) ?? defaultMs;
  if (lostMs >= borneMs && !paused && isMovable(app)) {
    return { kind: "unbind", app, reason: "NodeLost", message };
  }
  return app.status.phase === "Unknown" ? undefined : { kind: "mark", app, message };
}

function drivesAway({ effect, key }: Taint): boolean {
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
    const borneMs = tolerationMs(app.placement.tolerations, [taint]) ?? 0;
    if (now - (taint.since ?? now) < borneMs) continue;
    const message = `node ${node.name} has the taint ${formatTaint(taint)}, which it does not bear`;
    return { kind: "unbind", app, reason: "TaintEviction", message };
  }
  return undefined;
}
