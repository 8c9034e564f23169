/**
 * What the agent tells schedulers about its node. It travels as annotations of the Lease that is written every 10 s anyway, so it
 * costs no request of its own. Pure.
 */
import { group } from "../api/names.ts";
import { formatPercent } from "../api/percent.ts";
import type { Pressures, Resource } from "./pressure.ts";

/** Percent of the node. */
export interface Shares {
  cpuPCT: number;
  memPCT: number;
}

export interface Published {
  /** In use, measured over the last period. */
  used: Shares;
  /** Not promised to any app. */
  free: Shares;
  /** Kept back for the system itself. */
  reserved: Shares;
  pressure: Resource[];
  version: string;
}

/** Annotations of the agent's Lease. */
export const publishedAnnotations = {
  cpuUsed: `${group}/cpu-used-pct`,
  memUsed: `${group}/mem-used-pct`,
  cpuFree: `${group}/cpu-free-pct`,
  memFree: `${group}/mem-free-pct`,
  cpuReserved: `${group}/cpu-reserved-pct`,
  memReserved: `${group}/mem-reserved-pct`,
  /** Names of what is short, separated by commas; empty: nothing. */
  pressure: `${group}/pressure`,
  version: `${group}/nckubelet-version`,
} as const;

const resources: readonly Resource[] = ["memory", "disk", "pid"];

/** The annotations that say it. */
export function publish({ used, free, reserved, pressure, version }: Published): Record<string, string> {
  const keys = publishedAnnotations;
  return {
    [keys.cpuUsed]: formatPercent(used.cpuPCT),
    [keys.memUsed]: formatPercent(used.memPCT),
    [keys.cpuFree]: formatPercent(free.cpuPCT),
    [keys.memFree]: formatPercent(free.memPCT),
    [keys.cpuReserved]: formatPercent(reserved.cpuPCT),
    [keys.memReserved]: formatPercent(reserved.memPCT),
    [keys.pressure]: pressure.join(","),
    [keys.version]: version,
  };
}

/** Reads the annotations of an agent's Lease; undefined where they do not say all of it. */
export function parsePublished(annotations: Record<string, string> = {}): Published | undefined {
  const keys = publishedAnnotations;
  const shares = (cpu: string, mem: string) => ({
    cpuPCT: Number(annotations[cpu] || NaN),
    memPCT: Number(annotations[mem] || NaN),
  });
  const used = shares(keys.cpuUsed, keys.memUsed);
  const free = shares(keys.cpuFree, keys.memFree);
  const reserved = shares(keys.cpuReserved, keys.memReserved);
  const isShare = (percent: number) => percent >= 0 && percent <= 100;
  const isSaid = ({ cpuPCT, memPCT }: Shares) => isShare(cpuPCT) && isShare(memPCT);
  if (![used, free, reserved].every(isSaid)) return undefined;
  const named = (annotations[keys.pressure] ?? "").split(",");
  const pressure = resources.filter((resource) => named.includes(resource));
  return { used, free, reserved, pressure, version: annotations[keys.version] ?? "" };
}

/** What is short now. */
export function activePressures(pressures: Pressures): Resource[] {
  return resources.filter((resource) => pressures[resource].active);
}
