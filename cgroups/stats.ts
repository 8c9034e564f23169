/** Usage figures of one cgroup, everything below it included. */
import { performance } from "node:perf_hooks";
import { type CpuStats, parseCpuStat } from "./limits/cpu.ts";
import { type MemoryStats, parseMemoryEvents } from "./limits/memory.ts";
import type { PidsStats } from "./limits/pids.ts";
import { readTextIfAny } from "./file.ts";
import { type IoStats, parseIoStat } from "./io.ts";
import { parseAmount } from "./parse.ts";
import { type PressureStats, readPressure } from "./pressure.ts";

/** One reading. A controller that is not enabled for the cgroup leaves its part undefined. */
export interface Stats {
  /** When it was read, in milliseconds of a clock that never jumps. */
  at: number;
  cpu: CpuStats;
  memory: MemoryStats | undefined;
  pids: PidsStats | undefined;
  io: IoStats | undefined;
  /** Only when asked for, and where the kernel has it. */
  pressure: PressureStats | undefined;
}

export interface StatsOptions {
  /** Whose figures are wanted beside the CPU's: to look for those of a controller that is not enabled costs more than to read them. */
  controllers?: readonly string[];
  pressure?: boolean;
  now?: () => number;
}

/** Reads the figures of a cgroup; undefined when it is gone. Six small reads, three more with `pressure`. */
export function readStats(dir: string, options: StatsOptions = {}): Stats | undefined {
  const { controllers = ["memory", "pids", "io"], pressure = false, now = () => performance.now() } = options;
  const has = (name: string) => controllers.includes(name);
  // The CPU clock and ours are read next to each other: the percentage is of the time between.
  const at = now();
  const cpu = readTextIfAny(dir, "cpu.stat");
  if (cpu === undefined) return undefined;
  return {
    at,
    cpu: parseCpuStat(cpu, `${dir}/cpu.stat`),
    memory: has("memory") ? readMemory(dir) : undefined,
    pids: has("pids") ? readPids(dir) : undefined,
    io: has("io") ? readIo(dir) : undefined,
    pressure: pressure ? readPressure(dir) : undefined,
  };
}

/** CPU use between two readings, percent of the whole node; undefined where they cannot be compared. Pure. */
export function cpuPercentSince(previous: Stats, next: Stats, nodeCpus: number): number | undefined {
  const elapsedUsec = (next.at - previous.at) * 1000;
  const usedUsec = next.cpu.usageUsec - previous.cpu.usageUsec;
  // A counter that went back belongs to a cgroup that was made anew.
  if (elapsedUsec <= 0 || usedUsec < 0) return undefined;
  return (usedUsec / elapsedUsec / nodeCpus) * 100;
}

/** Share of the enforcement periods between two readings in which the app hit its CPU cap, in percent. Pure. */
export function throttledPercentSince(previous: Stats, next: Stats): number | undefined {
  const periods = next.cpu.periods - previous.cpu.periods;
  const throttled = next.cpu.throttledPeriods - previous.cpu.throttledPeriods;
  if (periods < 0 || throttled < 0) return undefined;
  return periods === 0 ? 0 : (throttled / periods) * 100;
}

function readMemory(dir: string): MemoryStats | undefined {
  const current = readTextIfAny(dir, "memory.current");
  if (current === undefined) return undefined;
  const peak = readTextIfAny(dir, "memory.peak");
  const events = readTextIfAny(dir, "memory.events") ?? "";
  return {
    currentBytes: parseAmount(current, `${dir}/memory.current`),
    peakBytes: peak === undefined ? undefined : parseAmount(peak, `${dir}/memory.peak`),
    ...parseMemoryEvents(events, `${dir}/memory.events`),
  };
}

function readPids(dir: string): PidsStats | undefined {
  const current = readTextIfAny(dir, "pids.current");
  return current === undefined ? undefined : { current: parseAmount(current, `${dir}/pids.current`) };
}

function readIo(dir: string): IoStats | undefined {
  const text = readTextIfAny(dir, "io.stat");
  return text === undefined ? undefined : parseIoStat(text, `${dir}/io.stat`);
}
