/** LimitRanges of a namespace: the default caps of apps without caps, and the bounds of caps. Pure. */
import type { V1LimitRange } from "@kubernetes/client-node";
import { limitRangeKeys, limitRangeType } from "../../api/names.ts";
import type { Wire } from "../../kube/wire.ts";
import { formatPoints, parseQuantity, shares } from "../points.ts";
import type { SchedulerApp } from "../types.ts";

export interface LimitRule {
  readonly name: string;
  readonly default: Shares;
  readonly min: Shares;
  readonly max: Shares;
}

/** Points; absent without a rule. */
export interface Shares {
  readonly cpu?: number;
  readonly mem?: number;
}

/** Caps as they are written into a spec. */
export interface WrittenCaps {
  cpuPCT?: string;
  memPCT?: string;
}

/** The app with the caps that it will have, and those that its spec does not have yet; or why it is refused. */
export type Limited = { app: SchedulerApp; defaults: WrittenCaps } | { refusal: string };

/** Reads the rules for NCApps; most rules are for Pods. */
export function readLimitRange({ metadata, spec }: Wire<V1LimitRange>): LimitRule[] {
  return (spec?.limits ?? []).filter(({ type }) => type === limitRangeType).map((item) => ({
    name: metadata?.name ?? "",
    // The field is `default` on the wire; the client's model has another name for this reserved word.
    default: readShares((item as { default?: Record<string, string> }).default),
    min: readShares(item.min),
    max: readShares(item.max),
  }));
}

/** Fills in missing caps and checks the bounds. The first default wins, in the order of the names of LimitRanges. */
export function applyLimits(app: SchedulerApp, rules: readonly LimitRule[]): Limited {
  let limited = app;
  const defaults: WrittenCaps = {};
  for (const [share, field] of shares) {
    const standard = rules.find((rule) => rule.default[share] !== undefined)?.default[share];
    if (app[share] > 0 || standard === undefined) continue;
    limited = { ...limited, [share]: standard };
    defaults[field] = formatPoints(standard);
  }
  const refusal = limitProblem(limited, rules);
  return refusal ? { refusal } : { app: limited, defaults };
}

/** Returns why the caps that the app has are out of bounds, or undefined. */
export function limitProblem(app: SchedulerApp, rules: readonly LimitRule[]): string | undefined {
  for (const rule of rules) {
    for (const [share, field] of shares) {
      const problem = boundsProblem(app[share], rule, share, field);
      if (problem) return problem;
    }
  }
  return undefined;
}

function boundsProblem(
  requested: number,
  rule: LimitRule,
  share: "cpu" | "mem",
  field: string,
): string | undefined {
  const { name, min: { [share]: min }, max: { [share]: max } } = rule;
  const request = requested > 0 ? `it requests ${formatPoints(requested)}` : "it has no cap";
  const problem = (bound: string, points: number) =>
    `limit range ${name}: the ${bound} ${field} per NCApp is ${formatPoints(points)}, but ${request}`;
  if (max !== undefined && (requested > max || requested === 0)) return problem("maximum", max);
  if (min !== undefined && requested < min) return problem("minimum", min);
  return undefined;
}

function readShares(amounts: Record<string, string> | undefined): Shares {
  return {
    cpu: parseQuantity(amounts?.[limitRangeKeys.cpuPCT]),
    mem: parseQuantity(amounts?.[limitRangeKeys.memPCT]),
  };
}
