/**
 * CPU time of the whole machine, for work that many short processes do: none of them can be asked afterwards.
 * Caveat: what others do meanwhile counts. It is taken off at the rate that it had right before and after,
 * which helps only if it is steady.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

/** What a piece of work took: seconds of all CPUs, seconds of the clock. */
export interface WorkCost {
  cpuSeconds: number;
  seconds: number;
}

/** Measures `work`, from its call to its end, between two looks at what the machine does without it. */
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

/** How many CPUs are busy. */
async function lookAround(ms: number): Promise<number> {
  const [busy, start] = [readBusySeconds(), performance.now()];
  await pause(ms);
  return (readBusySeconds() - busy) / (performance.now() - start) * 1000;
}

/** user, nice, system, irq, softirq of all CPUs, in seconds. */
function readBusySeconds(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]!.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) / 100;
}
