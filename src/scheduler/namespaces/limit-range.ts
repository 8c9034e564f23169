/** LimitRanges of a namespace: what an app without a cap gets, and how small or large caps may be. Pure. */
import type { V1LimitRange } from "@kubernetes/client-node";
import { limitRangeKeys, limitRangeType } from "../../api/names.ts";
import type { Wire } from "../../kube/wire.ts";
import { formatPoints, parseQuantity } from "../points.ts";
import type { SchedulerApp } from "../types.ts";

export interface LimitRule {
  readonly name: string;
  readonly default: Shares;
  readonly min: Shares;
  readonly max: Shares;
}

/** Points; absent: nothing is said. */
export interface Shares {
  readonly cpu?: number;
  readonly mem?: number;
}

/** Caps to write into a spec, as people would. */
export interface WrittenCaps {
  cpuPCT?: string;
  memPCT?: string;
}

/** The app with the caps that it will have, and those of them that its spec does not say yet; or why it may not be. */
export type Limited = { app: SchedulerApp; defaults: WrittenCaps } | { refusal: string };

const shares = [["cpu", "cpuPCT"], ["mem", "memPCT"]] as const;

/** The rules of a LimitRange about NCApps; most are about Pods. */
export function readLimitRange({ metadata, spec }: Wire<V1LimitRange>): LimitRule[] {
  return (spec?.limits ?? []).filter(({ type }) => type === limitRangeType).map((item) => ({
    name: metadata?.name ?? "",
    // On the wire it is `default`, which the model cannot be named.
    default: readShares((item as { default?: Record<string, string> }).default),
    min: readShares(item.min),
    max: readShares(item.max),
  }));
}

/** Fills in what an app leaves open and holds it to its bounds. Of several defaults the first counts, in the order of names. */
export function applyLimits(app: SchedulerApp, rules: readonly LimitRule[]): Limited {
  let limited = app;
  const defaults: WrittenCaps = {};
  for (const [share, field] of shares) {
    const standard = rules.find((rule) => rule.default[share] !== undefined)?.default[share];
    if (app[share] > 0 || standard === undefined) continue;
    limited = { ...limited, [share]: standard };
    defaults[field] = formatPoints(standard);
  }
  for (const rule of rules) {
    for (const [share, field] of shares) {
      const refusal = boundsProblem(limited[share], rule, share, field);
      if (refusal) return { refusal };
    }
  }
  return { app: limited, defaults };
}

function boundsProblem(
  asked: number,
  rule: LimitRule,
  share: "cpu" | "mem",
  field: string,
): string | undefined {
  const { name, min: { [share]: min }, max: { [share]: max } } = rule;
  const asks = asked > 0 ? `it asks for ${formatPoints(asked)}` : "it has no cap";
  const problem = (bound: string, points: number) =>
    `limit range ${name}: the ${bound} ${field} per NCApp is ${formatPoints(points)}, but ${asks}`;
  if (max !== undefined && (asked > max || asked === 0)) return problem("maximum", max);
  if (min !== undefined && asked < min) return problem("minimum", min);
  return undefined;
}

function readShares(amounts: Record<string, string> | undefined): Shares {
  return {
    cpu: parseQuantity(amounts?.[limitRangeKeys.cpuPCT]),
    mem: parseQuantity(amounts?.[limitRangeKeys.memPCT]),
  };
}
