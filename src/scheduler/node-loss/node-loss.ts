/**
 * Handles lost nodes: once a second `plan` decides what to do about their apps; this file evicts them, marks them Unknown, and reports
 * that in status, events and the log. `kube/observed-clock.ts` measures the silence of nodes.
 */
import { systemNamespace } from "../../api/names.ts";
import type { Evictor, LeaderContext } from "../write/write.ts";
import type { NodePresences } from "./node-presence.ts";
import { type LossPlan, planNodeLoss } from "./plan.ts";
import type { NodeLiveness } from "../state/state.ts";
import { eventTarget } from "../types.ts";

export { planNodeLoss } from "./plan.ts";
export { createNodePresences, type NodePresences } from "./node-presence.ts";

export interface NodeLossHandlerOptions
  extends Pick<LeaderContext, "cluster" | "writer" | "recorder" | "log" | "now"> {
  evictor: Evictor;
  presences?: NodePresences;
  defaultTolerationMs?: number;
}

/**
 * Returns a function that handles the health of all nodes; undefined while the Leases cannot be watched: then nothing is known about the
 * nodes, and nothing is decided.
 */
export function createNodeLossHandler(
  options: NodeLossHandlerOptions,
): (nodes: NodeLiveness[] | undefined) => void {
  const { cluster, writer, evictor, recorder, log, presences, defaultTolerationMs, now = Date.now } = options;
  let lost = new Set<string>();
  let paused = false;
  /** Apps for which an event about their lost node was recorded. */
  const reported = new Set<string>();

  const reportNodes = (plan: LossPlan) => {
    const next = new Set(plan.lost);
    for (const node of next) if (!lost.has(node)) log.warn("a node is lost", { node });
    for (const node of lost) if (!next.has(node)) log.info("a node is no longer lost", { node });
    lost = next;
    for (const key of reported) if (!next.has(cluster.apps.get(key)?.nodeName ?? "")) reported.delete(key);
  };

  const reportPause = (plan: LossPlan, nodes: number) => {
    if (plan.paused === paused) return;
    paused = plan.paused;
    const reason = paused ? "EvictionsPaused" : "EvictionsResumed";
    const message = paused
      ? `${plan.lost.length} of ${nodes} nodes are lost: the network is more likely broken than the nodes; apps stay bound`
      : `${plan.lost.length} of ${nodes} nodes are lost: evictions resume`;
    log.warn(message);
    // It concerns no single object: `kubectl get events` shows it in the scheduler's namespace.
    const namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      namespace: systemNamespace,
      name: systemNamespace,
      uid: systemNamespace,
    };
    recorder.record(namespace, { type: paused ? "Warning" : "Normal", reason, message });
    for (const name of paused ? plan.lost.slice(0, maxNodeEvents) : []) {
      const node = { apiVersion: "v1", kind: "Node", namespace: "default", name, uid: name };
      recorder.record(node, { type: "Warning", reason, message });
    }
  };

  return (nodes) => {
    if (!nodes) return presences?.update([], false);
    const plan = planNodeLoss(nodes, { now: now(), defaultTolerationMs });
    presences?.update(nodes, plan.paused);
    reportNodes(plan);
    reportPause(plan, nodes.filter(({ health }) => health !== undefined).length);
    for (const action of plan.actions) {
      const { app, message } = action;
      const current = cluster.apps.get(app.key);
      if (!current) continue;
      if (action.kind === "unbind") {
        void evictor.evict(current, action.reason, message);
      } else {
        writer.write(app.key, { kind: "lost", message });
        if (reported.has(app.key)) continue;
        reported.add(app.key);
        recorder.record(eventTarget(app), { type: "Warning", reason: "NodeLost", message });
      }
    }
  };
}

/** At most this many Node events, so that a broken network does not cause a flood of them. */
const maxNodeEvents = 20;
