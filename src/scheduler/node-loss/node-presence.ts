import { tolerationMs, unreachableKeys } from "../../api/placement/placement.ts";
import { agentLeaseSeconds } from "../../kube/lease.ts";
import type { NodeLiveness, NodePresence } from "../state/state.ts";
import type { SchedulerApp, Taint } from "../types.ts";

/** What is known about the agents of nodes, for apps that wait until a node lets them go. */
export interface NodePresences {
  /** Applies the health of all nodes; `paused`: too many are lost, so that the network is more likely broken. */
  update(nodes: NodeLiveness[], paused: boolean): void;
  of(app: SchedulerApp, node: string): NodePresence;
}

export interface NodePresencesOptions {
  /** Milliseconds during which the Leases could be watched. */
  observed: () => number;
  defaultTolerationMs?: number;
}

/** How long a node may have no Lease before its agent counts as gone: an agent creates a missing Lease within seconds. */
const missingMs = agentLeaseSeconds * 1000;

const unreachable = unreachableKeys.map((key): Taint => ({ key, effect: "NoExecute" }));

/** Returns how long an app stays bound to a lost node. */
export function lossTolerationMs({ placement }: SchedulerApp, defaultMs: number = 300_000): number {
  return tolerationMs(placement.tolerations, unreachable) ?? defaultMs;
}

export function createNodePresences(options: NodePresencesOptions): NodePresences {
  const { observed, defaultTolerationMs } = options;
  let known = new Map<string, NodeLiveness>();
  let isPaused = false;
  /** Since when nodes that apps wait for have had no Lease. */
  const missingSince = new Map<string, number>();

  return {
    update(nodes, paused) {
      known = new Map(nodes.filter(({ health }) => health).map((node) => [node.node.name, node]));
      isPaused = paused;
      for (const name of missingSince.keys()) if (known.has(name)) missingSince.delete(name);
    },
    of(app, name) {
      const { health, leaseGone } = known.get(name) ?? {};
      if (!health) {
        const since = missingSince.get(name) ?? observed();
        missingSince.set(name, since);
        return observed() - since > missingMs ? "gone" : "present";
      }
      if (health.state !== "lost") return "present";
      if (leaseGone) return "gone";
      return health.lostMs >= lossTolerationMs(app, defaultTolerationMs) && !isPaused ? "lost" : "silent";
    },
  };
}
