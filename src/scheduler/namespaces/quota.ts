/** ResourceQuotas of a namespace: the total points of its bound apps. Pure. */
import type { V1ResourceQuota } from "@kubernetes/client-node";
import { oldQuotaKeys, quotaKeys } from "../../api/names.ts";
import type { Wire } from "../../kube/wire.ts";
import { formatPoints, formatQuantity, parseQuantity, shares } from "../points.ts";
import type { SchedulerApp } from "../types.ts";

export interface Quota {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Points; absent if the quota does not limit this share. */
  readonly hard: Partial<Points>;
  /** The limits under earlier names. */
  readonly oldKeys: readonly string[];
  /** Its status, as quantities. */
  readonly status: { hard: Record<string, string>; used: Record<string, string> };
}

/** Points of a namespace's bound apps. */
export interface Points {
  cpu: number;
  mem: number;
}

/** Returns undefined if the quota does not apply to NCApps. Scopes select Pods, so a quota with a scope does not. */
export function readQuota({ metadata, spec, status }: Wire<V1ResourceQuota>): Quota | undefined {
  const limits = spec?.hard ?? {};
  const limitOf = (field: keyof typeof quotaKeys) =>
    parseQuantity(limits[quotaKeys[field]] ?? limits[oldQuotaKeys[field]]);
  const [cpu, mem] = [limitOf("cpuPCT"), limitOf("memPCT")];
  const isScoped = (spec?.scopes?.length ?? 0) > 0 || spec?.scopeSelector !== undefined;
  if (isScoped || cpu === undefined && mem === undefined) return undefined;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata ?? {};
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    hard: { cpu, mem },
    oldKeys: shares.filter(([, field]) => limits[quotaKeys[field]] === undefined)
      .map(([, field]) => oldQuotaKeys[field]).filter((key) => limits[key] !== undefined),
    status: { hard: status?.hard ?? {}, used: status?.used ?? {} },
  };
}

/** Returns why the quotas refuse the app, or undefined. As for Pods, an app must have a cap for each share that a quota limits. */
export function quotaProblem(app: SchedulerApp, quotas: readonly Quota[], used: Points): string | undefined {
  for (const { name, hard } of quotas) {
    const counted = shares.filter(([share]) => hard[share] !== undefined);
    const uncapped = counted.filter(([share]) => app[share] === 0);
    if (uncapped.length > 0) {
      return `failed quota: ${name}: must specify ${uncapped.map(([, field]) => field).join(",")}`;
    }
    const over = counted.filter(([share]) => used[share] + app[share] > hard[share]!);
    if (over.length === 0) continue;
    const list = (points: (share: "cpu" | "mem") => number) =>
      over.map(([share, field]) => `${field}=${formatPoints(points(share))}`).join(",");
    const [requested, taken, limit] = [
      list((share) => app[share]),
      list((share) => used[share]),
      list((share) => hard[share]!),
    ];
    return `exceeded quota: ${name}, requested: ${requested}, used: ${taken}, limited: ${limit}`;
  }
  return undefined;
}

/** Reports whether the namespace uses more than the quota allows. */
export function isOverQuota({ hard }: Quota, used: Points): boolean {
  return shares.some(([share]) => used[share] > (hard[share] ?? Infinity));
}

/** Returns the status patch that corrects `used`, in whole percent, rounded up; undefined if the status is right. */
export function quotaStatusPatch({ hard, oldKeys, status }: Quota, used: Points): object | undefined {
  const wanted = shares.filter(([share, field]) =>
    hard[share] !== undefined && !oldKeys.includes(oldQuotaKeys[field])
  ).map(([share, field]) => ({
    key: quotaKeys[field],
    hard: hard[share]!,
    used: Math.ceil(used[share] / 1000) * 1000,
  }));
  const isRight = wanted.every(({ key, hard, used }) =>
    parseQuantity(status.hard[key]) === hard && parseQuantity(status.used[key]) === used
  );
  if (isRight) return undefined;
  const amounts = (points: "hard" | "used") =>
    Object.fromEntries(wanted.map((item) => [item.key, formatQuantity(item[points])]));
  return { hard: amounts("hard"), used: amounts("used") };
}
