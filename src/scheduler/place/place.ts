/** What is to become of an app that waits for a node. Pure: looks at the cluster, changes nothing. */
import { applyLimits, quotaProblem, type WrittenCaps } from "../namespaces/namespaces.ts";
import { preempt, type Preemption } from "./preempt.ts";
import { formatRefusals } from "./refusals.ts";
import { chooseNode, type PlaceOptions } from "./choose-node.ts";
import type { SchedulerApp } from "../types.ts";
import type { ClusterState } from "../state/state.ts";

export { fits } from "./choose-node.ts";
export { type Preemption, victimsOn } from "./preempt.ts";

export type PlacementDecision =
  /** `app` has the caps that it will have; `defaults` are those that its spec does not have yet. */
  | { kind: "bind"; app: SchedulerApp; node: string; defaults: WrittenCaps; examined: number }
  /** `refusedBy` names the filters and gates, for the events that could help; `preemption` makes room. */
  | { kind: "refuse"; app: SchedulerApp; refusedBy: string[]; message: string; preemption?: Preemption };

/** Holds the app against the rules of its namespace, then against the nodes. */
export function placeApp(app: SchedulerApp, cluster: ClusterState, options: PlaceOptions): PlacementDecision {
  const refuse = (refusedBy: string, message: string): PlacementDecision => ({
    kind: "refuse",
    app,
    refusedBy: [refusedBy],
    message,
  });
  if (app.problem) return refuse("spec", app.problem);
  if (app.missingClass) {
    return refuse("spec", `no PriorityClass with name ${app.priorityClassName} was found`);
  }
  const leaving = cluster.snapshot.leavingFrom(app.key);
  if (leaving) return refuse("leaving", `waiting until it has stopped on node ${leaving.name}`);
  const limited = applyLimits(app, cluster.rules.limits(app.namespace));
  if ("refusal" in limited) return refuse("limitRange", limited.refusal);
  const problem = quotaProblem(
    limited.app,
    cluster.rules.quotas(app.namespace),
    cluster.accounts.usage.of(app.namespace),
  );
  if (problem) return refuse("quota", problem);
  return placeOn(limited.app, limited.defaults, cluster, options);
}

function placeOn(
  app: SchedulerApp,
  defaults: WrittenCaps,
  cluster: ClusterState,
  options: PlaceOptions,
): PlacementDecision {
  const decision = chooseNode(app, cluster.snapshot, options);
  if ("node" in decision) {
    return { kind: "bind", app, node: decision.node, defaults, examined: decision.examined };
  }
  const { refusals } = decision;
  const preemption = app.preempts ? preempt(app, cluster.snapshot, options) : undefined;
  const refusedBy = refusals.total === 0 ? ["nodes"] : refusals.filters;
  return {
    kind: "refuse",
    app,
    refusedBy,
    message: formatRefusals(refusals) + describe(preemption),
    preemption,
  };
}

function describe(preemption: Preemption | undefined): string {
  if (!preemption) return "";
  const { node, victims } = preemption;
  if (victims.length === 0) return `; waiting for apps to leave node ${node}`;
  return `; ending ${victims.map(({ key }) => key).join(", ")} on node ${node}`;
}
