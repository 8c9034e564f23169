/** Priorities of apps by their PriorityClass. Pure. */
import type { V1PriorityClass } from "@kubernetes/client-node";
import type { Wire } from "../../kube/wire.ts";
import type { SchedulerApp } from "../types.ts";

export interface PriorityRule {
  readonly name: string;
  readonly value: number;
  readonly globalDefault: boolean;
  readonly preempts: boolean;
}

export function readPriorityClass(object: Wire<V1PriorityClass>): PriorityRule {
  const { metadata, value = 0, globalDefault = false, preemptionPolicy } = object;
  return { name: metadata?.name ?? "", value, globalDefault, preempts: preemptionPolicy !== "Never" };
}

/** The app with the priority of its class, of the cluster's default class, or 0. */
export function withPriority(app: SchedulerApp, classes: ReadonlyMap<string, PriorityRule>): SchedulerApp {
  const wanted = app.priorityClassName;
  const rule = wanted ? classes.get(wanted) : defaultClass(classes);
  const missingClass = wanted !== "" && !rule;
  return { ...app, priority: rule?.value ?? 0, preempts: rule?.preempts ?? !missingClass, missingClass };
}

/** Of several, which the API server forbids but a race can make, the lowest, as for Pods. */
function defaultClass(classes: ReadonlyMap<string, PriorityRule>): PriorityRule | undefined {
  let found: PriorityRule | undefined;
  for (const rule of classes.values()) {
    if (rule.globalDefault && (!found || rule.value < found.value)) found = rule;
  }
  return found;
}
