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
  pressure: Resource[];
  version: string;
}

/** Annotations of the agent's Lease. */
export const publishedAnnotations = {
  cpuUsed: `${group}/cpu-used-pct`,
  memUsed: `${group}/mem-used-pct`,
  cpuFree: `${group}/cpu-free-pct`,
  memFree: `${group}/mem-free-pct`,
  /** Names of what is short, separated by commas; empty: nothing. */
  pressure: `${group}/pressure`,
  version: `${group}/nckubelet-version`,
} as const;

const resources: readonly Resource[] = ["memory", "disk", "pid"];

/** The annotations that say it. */
export function publish({ used, free, pressure, version }: Published): Record<string, string> {
  const keys = publishedAnnotations;
  return {
    [keys.cpuUsed]: formatPercent(used.cpuPCT),
    [keys.memUsed]: formatPercent(used.memPCT),
    [keys.cpuFree]: formatPercent(free.cpuPCT),
    [keys.memFree]: formatPercent(free.memPCT),
    [keys.pressure]: pressure.join(","),
    [keys.version]: version,
  };
}

/** Reads the annotations of an agent's Lease; undefined where they do not say all of it. */
export function parsePublished(annotations: Record<string, string> | undefined): Published | undefined {
  const keys = publishedAnnotations;
  const number = (key: string) => annotations?.[key] === undefined ? NaN : Number(annotations[key] || NaN);
  const used = { cpuPCT: number(keys.cpuUsed), memPCT: number(keys.memUsed) };
  const free = { cpuPCT: number(keys.cpuFree), memPCT: number(keys.memFree) };
  if ([used.cpuPCT, used.memPCT, free.cpuPCT, free.memPCT].some(Number.isNaN)) return undefined;
  const named = (annotations?.[keys.pressure] ?? "").split(",");
  const pressure = resources.filter((resource) => named.includes(resource));
  return { used, free, pressure, version: annotations?.[keys.version] ?? "" };
}

/** What is short now. */
export function activePressures(pressures: Pressures): Resource[] {
  return resources.filter((resource) => pressures[resource].active);
}
