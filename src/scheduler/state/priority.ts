/** The priority of an app by its PriorityClass. Pure. */
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

/** Returns the app with the priority of its class, of the cluster's default class, or 0. */
export function withPriority(app: SchedulerApp, classes: ReadonlyMap<string, PriorityRule>): SchedulerApp {
  const className = app.priorityClassName;
  const rule = className ? classes.get(className) : defaultClass(classes);
  const missingClass = className !== "" && !rule;
  return { ...app, priority: rule?.value ?? 0, preempts: rule?.preempts ?? !missingClass, missingClass };
}

/** The API server forbids several defaults, but a race can create them: then the lowest wins, as for Pods. */
function defaultClass(classes: ReadonlyMap<string, PriorityRule>): PriorityRule | undefined {
  let found: PriorityRule | undefined;
  for (const rule of classes.values()) {
    if (rule.globalDefault && (!found || rule.value < found.value)) found = rule;
  }
  return found;
}
