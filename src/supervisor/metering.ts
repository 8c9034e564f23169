/**
 * From the kernel's counters to shares of the node. Pure.
 */
import type { Usage } from "./confinement/confinement.ts";
import type { Measured } from "./status.ts";

/** A reading of the counters, and when it was made. */
export interface Reading {
  at: number;
  usage: Usage;
}

export interface NodeSize {
  cpus: number;
  memoryBytes: number;
}

/** Two readings closer than this, or a clock that was set back, tell nothing about a second. */
const minSeconds = 0.5;

/** What was used between two readings of one run. Where processes took their counts with them, use is never negative. */
export function measure(before: Reading, after: Reading, { cpus, memoryBytes }: NodeSize): Measured {
  const seconds = Math.max(minSeconds, (after.at - before.at) / 1000);
  const since = (counter: (usage: Usage) => number) =>
    Math.max(0, counter(after.usage) - counter(before.usage));
  return {
    cpuPCT: 100 * since((usage) => usage.cpuSeconds) / (seconds * cpus),
    // Throttled time is summed over CPUs: on a node of many it may pass the time that went by.
    cpuThrottledPCT: Math.min(100, 100 * since((usage) => usage.throttledSeconds) / seconds),
    memPCT: 100 * after.usage.memoryBytes / memoryBytes,
    memoryBytes: after.usage.memoryBytes,
    processes: after.usage.processes,
    oomKills: after.usage.oomKills,
  };
}

/** The reading that every run starts from: nothing used yet. */
export function zeroReading(at: number): Reading {
  return { at, usage: { cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 0, processes: 0, oomKills: 0 } };
}
