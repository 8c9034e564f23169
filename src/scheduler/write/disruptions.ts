/**
 * Unbinds apps whose agents ask for it: their Pods were evicted, or deleted on a cordoned node. The API server has checked the budgets of
 * disruptions by then.
 *
 * Guarantees: only the agent that holds the app is heard, about the app as it is bound now: a request from before its last bind counts
 * for nothing.
 */
import { disruptionCondition } from "../../api/conditions.ts";
import { isMovable } from "../state/state.ts";
import type { SchedulerApp } from "../types.ts";
import type { LeaderContext } from "./context.ts";
import type { Evictor } from "./evict.ts";

export interface Disruptions {
  /** An app is new or has changed. */
  check(app: SchedulerApp): void;
  /** Tries again what failed. */
  tick(): void;
}

export interface DisruptionsOptions extends Pick<LeaderContext, "cluster"> {
  evictor: Evictor;
}

export function createDisruptions({ cluster, evictor }: DisruptionsOptions): Disruptions {
  /** The keys of apps that are to leave. */
  const leaving = new Set<string>();
  const evict = (key: string) => {
    const app = cluster.apps.get(key);
    if (!app || !mustLeave(app)) return void leaving.delete(key);
    void evictor.evict(app, "PodEvicted", `its Pod was evicted from node ${app.nodeName}`);
  };
  const check = (app: SchedulerApp) => {
    if (!mustLeave(app) || leaving.has(app.key)) return;
    leaving.add(app.key);
    evict(app.key);
  };
  for (const app of cluster.apps) check(app);
  return { check, tick: () => leaving.forEach(evict) };
}

export function mustLeave(app: SchedulerApp): boolean {
  const { nodeName, generation, status, finished } = app;
  return nodeName !== undefined && status.nodeName === nodeName && !finished && isMovable(app) &&
    (status.conditions ?? []).some(({ type, status, observedGeneration }) =>
      type === disruptionCondition && status === "True" && observedGeneration === generation
    );
}
