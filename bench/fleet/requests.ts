/** Counts of requests, by verb and resource. Pure. */

/** Such as `update leases`. */
export type RequestCounts = Record<string, number>;

/** Returns what was counted between two readings, the most frequent first. */
export function countsSince(before: RequestCounts, after: RequestCounts): RequestCounts {
  const since = Object.entries(after).map(([kind, made]) => [kind, made - (before[kind] ?? 0)] as const);
  return Object.fromEntries(since.filter(([, made]) => made > 0).sort(([, one], [, other]) => other - one));
}

export function sumOf(counts: RequestCounts): number {
  return Object.values(counts).reduce((sum, made) => sum + made, 0);
}

/** Returns the counts without those of heartbeats, which do not depend on apps. */
export function withoutHeartbeats(counts: RequestCounts): RequestCounts {
  return pick(counts, (kind) => !/ (leases|nodes)(\/|$)/.test(kind));
}

/** Returns the counts of writes about apps: their status, their Events and their Pods. */
export function aboutApps(counts: RequestCounts): RequestCounts {
  return pick(counts, (kind) => /^(create|patch|update|delete) (ncapps|events|pods)(\/|$)/.test(kind));
}

/** Describes the counts for one of `units`: `1.0 create pods, 0.9 patch events`. */
export function perUnit(counts: RequestCounts, units: number): string {
  const parts = Object.entries(counts).map(([kind, made]) => [kind, (made / units).toFixed(1)] as const);
  return parts.filter(([, made]) => made !== "0.0").map(([kind, made]) => `${made} ${kind}`).join(", ");
}

function pick(counts: RequestCounts, isWanted: (kind: string) => boolean): RequestCounts {
  return Object.fromEntries(Object.entries(counts).filter(([kind]) => isWanted(kind)));
}
