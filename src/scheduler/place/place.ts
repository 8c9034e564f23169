/** What is to become of an app that waits for a node. Pure: looks at the world, changes nothing. */
import { applyLimits, quotaProblem, type WrittenCaps } from "../namespaces/namespaces.ts";
import { preempt, type Preemption } from "./preempt.ts";
import { formatRefusals } from "./refusals.ts";
import { schedule, type ScheduleOptions } from "./choose-node.ts";
import type { AppRecord } from "../types.ts";
import type { World } from "../state/state.ts";

export { fits } from "./choose-node.ts";
export { type Preemption, victimsOn } from "./preempt.ts";

export type Verdict =
  /** `app` has the caps that it will have; `defaults` are those that its spec does not have yet. */
  | { kind: "bind"; app: AppRecord; node: string; defaults: WrittenCaps; examined: number }
  /** `refusedBy` names the filters and gates, for the events that could help; `preemption` makes room. */
  | { kind: "refuse"; app: AppRecord; refusedBy: string[]; message: string; preemption?: Preemption };

/** Holds the app against the rules of its namespace, then against the nodes. */
export function decide(app: AppRecord, world: World, options: ScheduleOptions): Verdict {
  const refuse = (refusedBy: string, message: string): Verdict => ({
    kind: "refuse",
    app,
    refusedBy: [refusedBy],
    message,
  });
  if (app.problem) return refuse("spec", app.problem);
  if (app.missingClass) {
    return refuse("spec", `no PriorityClass with name ${app.priorityClassName} was found`);
  }
  const leaving = world.snapshot.leavingFrom(app.key);
  if (leaving) return refuse("leaving", `waiting until it has stopped on node ${leaving.name}`);
  const limited = applyLimits(app, world.rules.limits(app.namespace));
  if ("refusal" in limited) return refuse("limitRange", limited.refusal);
  const problem = quotaProblem(
    limited.app,
    world.rules.quotas(app.namespace),
    world.accounts.ledger.of(app.namespace),
  );
  if (problem) return refuse("quota", problem);
  return placeOn(limited.app, limited.defaults, world, options);
}

function placeOn(app: AppRecord, defaults: WrittenCaps, world: World, options: ScheduleOptions): Verdict {
  const decision = schedule(app, world.snapshot, options);
  if ("node" in decision) {
    return { kind: "bind", app, node: decision.node, defaults, examined: decision.examined };
  }
  const { refusals } = decision;
  const preemption = app.preempts ? preempt(app, world.snapshot, options) : undefined;
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
