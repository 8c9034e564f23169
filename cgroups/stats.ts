/** Usage of one cgroup, including everything below it. */
import { type CpuStats, parseCpuStat } from "./limits/cpu.ts";
import { type MemoryStats, type OomKills, parseMemoryEvents } from "./limits/memory.ts";
import type { PidsStats } from "./limits/pids.ts";
import { readTextIfAny } from "./file.ts";
import { parseAmount } from "./parse.ts";

/** One reading. The part of a controller that the cgroup does not have is undefined. */
export interface Stats {
  cpu: CpuStats;
  memory: MemoryStats | undefined;
  pids: PidsStats | undefined;
}

export interface StatsOptions {
  /** The controllers to read in addition to cpu: looking for the files of a disabled one costs more than reading them. */
  controllers?: readonly string[];
}

/** Reads the usage of a cgroup with five small reads; undefined when the cgroup is gone. */
export function readStats(
  dir: string,
  { controllers = ["memory", "pids"] }: StatsOptions = {},
): Stats | undefined {
  const cpu = readTextIfAny(dir, "cpu.stat");
  if (cpu === undefined) return undefined;
  return {
    cpu: parseCpuStat(cpu, `${dir}/cpu.stat`),
    memory: controllers.includes("memory") ? readMemory(dir) : undefined,
    pids: controllers.includes("pids") ? readPids(dir) : undefined,
  };
}

/** Reads the out-of-memory kills in a cgroup, with one read; undefined when it is gone or has no memory controller. */
export function readKills(dir: string): OomKills | undefined {
  const events = readTextIfAny(dir, "memory.events");
  return events === undefined ? undefined : parseMemoryEvents(events, `${dir}/memory.events`);
}

function readMemory(dir: string): MemoryStats | undefined {
  const current = readTextIfAny(dir, "memory.current");
  if (current === undefined) return undefined;
  const peak = readTextIfAny(dir, "memory.peak");
  const events = readTextIfAny(dir, "memory.events") ?? "";
  return {
    currentBytes: parseAmount(current, `${dir}/memory.current`),
    peakBytes: peak === undefined ? undefined : parseAmount(peak, `${dir}/memory.peak`),
    kills: parseMemoryEvents(events, `${dir}/memory.events`),
  };
}

function readPids(dir: string): PidsStats | undefined {
  const current = readTextIfAny(dir, "pids.current");
  return current === undefined ? undefined : { current: parseAmount(current, `${dir}/pids.current`) };
}
