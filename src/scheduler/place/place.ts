/**
 * Decides what to do with an app that waits for a node. Pure: it reads the cluster state and changes nothing.
 *
 * An app must be readable and must satisfy the rules of its namespace. Then `choose-node` finds a node: `filters/` excludes nodes,
 * `scores` ranks the rest. If no node fits, `refusals` says why, and `preempt` looks for apps of lower priority that could make way.
 * `explain` shows all of this for one app.
 */
import { applyLimits, quotaProblem, type WrittenCaps } from "../namespaces/namespaces.ts";
import type { ClusterState } from "../state/state.ts";
import type { ClusterEvent, SchedulerApp } from "../types.ts";
import { chooseNode, type PlaceOptions } from "./choose-node.ts";
import { preempt, type Preemption } from "./preempt.ts";
import { formatRefusals } from "./refusals.ts";

export { chooseNode, fits, rulesAmong } from "./choose-node.ts";
export { type Preemption, victimsOn } from "./preempt.ts";
export { formatRefusals } from "./refusals.ts";

export type PlacementDecision =
  /** `app` has the caps that it will have; `defaults` are those that its spec does not have yet. */
  | { kind: "bind"; app: SchedulerApp; node: string; defaults: WrittenCaps; examined: number }
  /** It is still stopping on the node that it left. This is not an error, so it is not reported. */
  | { kind: "wait"; app: SchedulerApp; helpedBy: readonly ClusterEvent[]; message: string }
  | Refusal;

export interface Refusal {
  kind: "refuse";
  app: SchedulerApp;
  /** Events after which it is tried again; with none, only a change of the app or its PriorityClass helps. */
  helpedBy: readonly ClusterEvent[];
  message: string;
  preemption?: Preemption;
}

export function placeApp(app: SchedulerApp, cluster: ClusterState, options: PlaceOptions): PlacementDecision {
  const refuse = (message: string, helpedBy: ClusterEvent[] = []): Refusal => ({
    kind: "refuse",
    app,
    helpedBy,
    message,
  });
  if (app.problem) return refuse(app.problem);
  if (app.missingClass) return refuse(`no PriorityClass with name ${app.priorityClassName} was found`);
  const leaving = cluster.snapshot.nodeOf(app.key, "leaving");
  if (leaving) {
    const message = `waiting until it has stopped on node ${leaving.name}`;
    return { kind: "wait", app, helpedBy: ["stopped"], message };
  }
  const limited = applyLimits(app, cluster.rules.limits(app.namespace));
  if ("refusal" in limited) return refuse(limited.refusal, ["limitRange"]);
  const problem = quotaProblem(
    limited.app,
    cluster.rules.quotas(app.namespace),
    cluster.accounts.usage.of(app.namespace),
  );
  if (problem) return refuse(problem, ["quota", "limitRange"]);
  return findNode(limited.app, limited.defaults, cluster, options);
}

function findNode(
  app: SchedulerApp,
  defaults: WrittenCaps,
  { snapshot, budgets }: ClusterState,
  options: PlaceOptions,
): PlacementDecision {
  const choice = chooseNode(app, snapshot, options);
  if ("node" in choice) {
    return { kind: "bind", app, node: choice.node, defaults, examined: choice.examined };
  }
  const { refusals } = choice;
  const preemption = app.preempts
    ? preempt(app, snapshot, { ...options, violations: (apps) => budgets.violations(apps, options.now) })
    : undefined;
  const message = formatRefusals(refusals) + describe(preemption);
  return { kind: "refuse", app, helpedBy: refusals.helpedBy, message, preemption };
}

function describe(preemption: Preemption | undefined): string {
  if (!preemption) return "";
  const { node, victims } = preemption;
  if (victims.length === 0) return `; waiting for apps to leave node ${node}`;
  return `; ending ${victims.map(({ key }) => key).join(", ")} on node ${node}`;
}
