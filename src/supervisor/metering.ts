/** Converts the kernel's counters to shares of the node. Pure. */
import type { NodeSize } from "../../cgroups/mod.ts";
import type { Usage } from "./confinement/confinement.ts";
import type { Measured } from "./status.ts";

export type { NodeSize };

export interface Reading {
  /** On a clock that is never set, in milliseconds. */
  at: number;
  /** The same moment, in milliseconds since 1970. */
  time?: number;
  usage: Usage;
}

/** Readings closer than this give no rate: the kernel grants a whole period's share at its start, which would exceed the cap. */
export const minRateMs = 2000;

/**
 * The usage at a reading, with the rates since an earlier one of the same counters, if there is one. Rates are never negative, even
 * if processes ended and their counts are gone.
 */
export function measure(
  before: Reading | undefined,
  { at, usage }: Reading,
  { cpus, memoryBytes }: NodeSize,
): Measured {
  const measured = {
    memPCT: 100 * usage.memoryBytes / memoryBytes,
    memoryBytes: usage.memoryBytes,
    processes: usage.processes,
    kills: usage.kills,
  };
  if (!before || at - before.at < minRateMs) return measured;
  const seconds = (at - before.at) / 1000;
  return {
    ...measured,
    cpuPCT: 100 * Math.max(0, usage.cpuSeconds - before.usage.cpuSeconds) / (seconds * cpus),
    // Throttled time is summed over CPUs: on a node with many it may exceed the elapsed time.
    cpuThrottledPCT: Math.min(
      100,
      100 * Math.max(0, usage.throttledSeconds - before.usage.throttledSeconds) / seconds,
    ),
  };
}
