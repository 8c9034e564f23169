/** Usage of one cgroup, including everything below it. */
import { type CpuStats, parseCpuStat } from "./limits/cpu.ts";
import { type MemoryStats, type OomKills, parseMemoryEvents } from "./limits/memory.ts";
import { readTextIfAny } from "./file.ts";
import { parseAmount } from "./parse.ts";

/** One reading. */
export interface Stats {
  cpu: CpuStats;
  /** Undefined without the memory controller. */
  memory: MemoryStats | undefined;
}

/**
 * Reads the usage of a cgroup with three small reads; undefined when the cgroup is gone. `hasMemory`: it may have the memory
 * controller; looking for the files of a disabled one costs more than reading them.
 */
export function readStats(dir: string, { hasMemory = true } = {}): Stats | undefined {
  const cpu = readTextIfAny(dir, "cpu.stat");
  if (cpu === undefined) return undefined;
  return {
    cpu: parseCpuStat(cpu, `${dir}/cpu.stat`),
    memory: hasMemory ? readMemory(dir) : undefined,
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
  const events = readTextIfAny(dir, "memory.events") ?? "";
  return {
    currentBytes: parseAmount(current, `${dir}/memory.current`),
    kills: parseMemoryEvents(events, `${dir}/memory.events`),
  };
}
