/**
 * Finds bound apps that break a rule of their namespace. The scheduler checks an app when it binds it; an app whose `spec.nodeName`
 * another client set, or whose caps were raised later, was never checked, and the scheduler can only report it. Pure.
 */
import type { SchedulerApp } from "../types.ts";
import { limitProblem, type LimitRule } from "./limit-range.ts";
import { type Points, type Quota, quotaProblem } from "./quota.ts";

export interface BrokenRule {
  readonly reason: "LimitRangeBypassed" | "QuotaBypassed";
  readonly message: string;
}

export interface Bypass extends BrokenRule {
  readonly app: SchedulerApp;
}

export interface BypassRules {
  limits(namespace: string): readonly LimitRule[];
  quotas(namespace: string): readonly Quota[];
}

/** Checks apps that count with more than before. If several broke a quota at once, those that were bound last did. */
export function findBypasses(
  grown: readonly SchedulerApp[],
  rules: BypassRules,
  usage: { of(namespace: string): Points },
): Bypass[] {
  const found: Bypass[] = [];
  const used = new Map<string, Points>();
  for (const { namespace, cpu, mem } of grown) {
    const sum = used.get(namespace) ?? usage.of(namespace);
    used.set(namespace, { cpu: sum.cpu - cpu, mem: sum.mem - mem });
  }
  for (const app of grown.toSorted((a, b) => (a.boundAt ?? 0) - (b.boundAt ?? 0))) {
    const { namespace, cpu, mem } = app;
    const sum = used.get(namespace)!;
    found.push(...brokenRules(app, rules, sum).map((rule) => ({ app, ...rule })));
    used.set(namespace, { cpu: sum.cpu + cpu, mem: sum.mem + mem });
  }
  return found;
}

/** Returns the rules that a bound app breaks next to others that use `others` points of its namespace. */
export function brokenRules(app: SchedulerApp, rules: BypassRules, others: Points): BrokenRule[] {
  const outOfBounds = limitProblem(app, rules.limits(app.namespace));
  const overQuota = quotaProblem(app, rules.quotas(app.namespace), others);
  // A scheduler that takes over finds apps that are older than the rule as well.
  const why = "it was bound or changed without the scheduler, or before this rule";
  return [
    ...(outOfBounds ? [{ reason: "LimitRangeBypassed", message: `${outOfBounds}; ${why}` } as const] : []),
    ...(overQuota ? [{ reason: "QuotaBypassed", message: `${overQuota}; ${why}` } as const] : []),
  ];
}
