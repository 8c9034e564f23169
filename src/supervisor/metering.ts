/** Converts the kernel's counters to shares of the node. Pure. */
import type { NodeSize } from "../../cgroups/mod.ts";
import type { Usage } from "./confinement/confinement.ts";
import type { Measured } from "./status.ts";

export type { NodeSize };

export interface Reading {
  at: number;
  usage: Usage;
}

/** Readings closer than this, or from a clock that was set back, give no rate per second. */
const minSeconds = 0.5;

/** The usage between two readings of one run. Never negative, even if processes ended and their counts are gone. */
export function measure(before: Reading, after: Reading, { cpus, memoryBytes }: NodeSize): Measured {
  const seconds = Math.max(minSeconds, (after.at - before.at) / 1000);
  const since = (counter: (usage: Usage) => number) =>
    Math.max(0, counter(after.usage) - counter(before.usage));
  return {
    cpuPCT: 100 * since((usage) => usage.cpuSeconds) / (seconds * cpus),
    // Throttled time is summed over CPUs: on a node with many it may exceed the elapsed time.
    cpuThrottledPCT: Math.min(100, 100 * since((usage) => usage.throttledSeconds) / seconds),
    memPCT: 100 * after.usage.memoryBytes / memoryBytes,
    memoryBytes: after.usage.memoryBytes,
    processes: after.usage.processes,
    oomKills: after.usage.oomKills,
  };
}

/** The reading that every run starts from: all zero. */
export function zeroReading(at: number): Reading {
  return { at, usage: { cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 0, processes: 0, oomKills: 0 } };
}
