/** Acts on lost nodes once a second, and says so. */
import { systemNamespace } from "../../api/names.ts";
import type { Logger } from "../../lib/log.ts";
import type { EventRecorder } from "../../report/events/events.ts";
import type { Evictor, StatusWriter } from "../write/write.ts";
import { type LossPlan, planNodeLoss } from "./plan.ts";
import type { ClusterState, NodeLiveness } from "../state/state.ts";
import { eventTarget } from "../types.ts";

export { createObservedClock } from "./observed-clock.ts";

export interface LossKeeper {
  /** One look at all nodes, and what follows from it. */
  tick(states: NodeLiveness[]): void;
}

export interface LossKeeperOptions {
  cluster: ClusterState;
  writer: StatusWriter;
  evictor: Evictor;
  recorder: EventRecorder;
  log: Logger;
  defaultTolerationMs?: number;
  now?: () => number;
}

export function createLossKeeper(options: LossKeeperOptions): LossKeeper {
  const { cluster, writer, evictor, recorder, log, defaultTolerationMs, now = Date.now } = options;
  let lost = new Set<string>();
  let paused = false;
  /** Apps that were told to be on a lost node. */
  const told = new Set<string>();

  const tellNodes = (plan: LossPlan) => {
    const next = new Set(plan.lost);
    for (const node of next) if (!lost.has(node)) log.warn("a node is lost", { node });
    for (const node of lost) if (!next.has(node)) log.info("a node is no longer lost", { node });
    lost = next;
    for (const key of told) if (!next.has(cluster.app(key)?.nodeName ?? "")) told.delete(key);
  };

  const tellPause = (plan: LossPlan, nodes: number) => {
    if (plan.paused === paused) return;
    paused = plan.paused;
    const reason = paused ? "EvictionsPaused" : "EvictionsResumed";
    const message = paused
      ? `${plan.lost.length} of ${nodes} nodes are lost: the network is more likely broken than the nodes; apps stay bound to them`
      : `${plan.lost.length} of ${nodes} nodes are lost: apps are moved again`;
    log.warn(message);
    // About nobody in particular; `kubectl get events -A` shows it, as does a look at the scheduler's namespace.
    const about = {
      apiVersion: "v1",
      kind: "Namespace",
      namespace: systemNamespace,
      name: systemNamespace,
      uid: systemNamespace,
    };
    recorder.record(about, { type: paused ? "Warning" : "Normal", reason, message });
    for (const name of paused ? plan.lost.slice(0, maxNodeEvents) : []) {
      const node = { apiVersion: "v1", kind: "Node", namespace: "default", name, uid: name };
      recorder.record(node, { type: "Warning", reason, message });
    }
  };

  return {
    tick(states) {
      const plan = planNodeLoss(states, { now: now(), defaultTolerationMs });
      tellNodes(plan);
      tellPause(plan, states.filter(({ health }) => health !== undefined).length);
      for (const action of plan.actions) {
        const { app, message } = action;
        const current = cluster.app(app.key);
        if (!current) continue;
        if (action.kind === "unbind") {
          void evictor.evict(current, action.reason, message);
        } else {
          writer.write(app.key, { kind: "lost", message });
          if (told.has(app.key)) continue;
          told.add(app.key);
          recorder.record(eventTarget(app), { type: "Warning", reason: "NodeLost", message });
        }
      }
    },
  };
}

/** A cluster that falls apart is not to be buried in events. */
const maxNodeEvents = 20;
