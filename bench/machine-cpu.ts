/**
 * Measures CPU time of the whole machine, for work that many short processes do: none of them can be measured afterwards.
 * Caveat: other work counts too. It is subtracted at its rate right before and after, which helps only if that is steady.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

/** The cost of some work: seconds of all CPUs, and seconds of wall time. */
export interface WorkCost {
  cpuSeconds: number;
  seconds: number;
}

/** Measures `work` from its call to its end, between two samples of the machine's other load. */
export async function measureMachine(work: () => Promise<void>, lookMs = 1000): Promise<WorkCost> {
  const before = await lookAround(lookMs);
  const busy = readBusySeconds();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const all = readBusySeconds() - busy;
  const after = await lookAround(lookMs);
  return { cpuSeconds: Math.max(0, all - (before + after) / 2 * seconds), seconds };
}

/** Returns the number of busy CPUs. */
async function lookAround(ms: number): Promise<number> {
  const [busy, start] = [readBusySeconds(), performance.now()];
  await pause(ms);
  return (readBusySeconds() - busy) / (performance.now() - start) * 1000;
}

/** user, nice, system, irq, softirq of all CPUs, in seconds. */
export function readBusySeconds(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]!.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) / 100;
}
