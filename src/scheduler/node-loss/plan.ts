/**
 * Plans what to do about apps on lost nodes and on nodes with NoExecute taints. Pure.
 *
 * An app on a lost node is marked Unknown at once and unbound after its toleration, 300 s by default. If more than half of the nodes
 * are lost, the network is more likely broken than the nodes, and no app is unbound.
 */
import { isMovable, type NodeLiveness } from "../state/state.ts";
import type { NodeEntry } from "../node-entry.ts";
import { evicts, firstEviction, formatTaint, tolerationMs } from "../../api/placement/placement.ts";
import type { SchedulerApp } from "../types.ts";
import { lossTolerationMs } from "./node-presence.ts";

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

export function planNodeLoss(nodes: Iterable<NodeLiveness>, options: LossOptions): LossPlan {
  const { now, defaultTolerationMs } = options;
  const all = [...nodes].filter(({ health }) => health !== undefined);
  const lost = all.filter(({ health }) => health?.state === "lost");
  const paused = lost.length * 2 > all.length;
  const actions: LossAction[] = [];
  for (const { node, health } of all) {
    if (health?.state !== "lost" && !node.properties.taints.some(evicts)) continue;
    for (const app of node.apps.values()) {
      const action = health?.state === "lost"
        ? afterLoss(app, node, health, paused, defaultTolerationMs)
        : afterTaints(app, node, now);
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
  defaultMs?: number,
): LossAction | undefined {
  const message = `node ${node.name} has not reported for ${Math.round(silentMs / 1000)} s`;
  if (lostMs >= lossTolerationMs(app, defaultMs) && !paused && isMovable(app)) {
    return { kind: "unbind", app, reason: "NodeLost", message };
  }
  return app.status.phase === "Unknown" ? undefined : { kind: "mark", app, message };
}

function afterTaints(app: SchedulerApp, node: NodeEntry, now: number): LossAction | undefined {
  if (!isMovable(app)) return undefined;
  const { tolerations } = app.placement;
  const eviction = firstEviction(tolerations, node.properties.taints, app.boundAt);
  if (!eviction || eviction.at > now) return undefined;
  const toleratedMs = tolerationMs(tolerations, [eviction.taint]);
  const why = toleratedMs === undefined
    ? "which the app does not tolerate"
    : `which the app tolerates for ${toleratedMs / 1000} s`;
  const message = `node ${node.name} has the taint ${formatTaint(eviction.taint)}, ${why}`;
  return { kind: "unbind", app, reason: "TaintEviction", message };
}
