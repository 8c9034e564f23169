/**
 * What the agent publishes about its node for schedulers, as annotations of its Lease: that is written every 10 s anyway, so this
 * needs no request of its own. Pure.
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
  /** Reserved for the system. */
  reserved: Shares;
  pressure: Resource[];
  version: string;
}

export const publishedAnnotations = {
  cpuUsed: `${group}/cpu-used-pct`,
  memUsed: `${group}/mem-used-pct`,
  cpuFree: `${group}/cpu-free-pct`,
  memFree: `${group}/mem-free-pct`,
  cpuReserved: `${group}/cpu-reserved-pct`,
  memReserved: `${group}/mem-reserved-pct`,
  /** Resources that are short, separated by commas; empty if none is. */
  pressure: `${group}/pressure`,
  version: `${group}/nckubelet-version`,
} as const;

const resources: readonly Resource[] = ["memory", "disk", "pid"];

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

/** Reads the annotations of an agent's Lease; undefined if they are incomplete. */
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

export function activePressures(pressures: Pressures): Resource[] {
  return resources.filter((resource) => pressures[resource].active);
}
