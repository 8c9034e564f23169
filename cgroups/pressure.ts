import { readTextIfAny } from "./file.ts";
import { parseNested } from "./parse.ts";

/** Share of time, in percent over 10, 60 and 300 s, in which tasks waited, and the sum in microseconds. */
export interface Stall {
  avg10: number;
  avg60: number;
  avg300: number;
  totalUsec: number;
}

/** One resource: `some` tasks waited, or all of them (`full`; for cpu since Linux 5.13). */
export interface Pressure {
  some: Stall;
  full: Stall | undefined;
}

export interface PressureStats {
  cpu: Pressure | undefined;
  memory: Pressure | undefined;
  io: Pressure | undefined;
}

/** Pressure of a cgroup; undefined where the kernel has none (`CONFIG_PSI` off, or booted with `psi=0`). */
export function readPressure(dir: string): PressureStats | undefined {
  const read = (file: string) => {
    const text = readTextIfAny(dir, file);
    return text === undefined ? undefined : parsePressure(text, `${dir}/${file}`);
  };
  const stats = { cpu: read("cpu.pressure"), memory: read("memory.pressure"), io: read("io.pressure") };
  return stats.cpu || stats.memory || stats.io ? stats : undefined;
}

/** Parses a pressure file: those of a cgroup and those in `/proc/pressure` have the same shape. */
export function parsePressure(text: string, where = "pressure"): Pressure | undefined {
  const { some, full } = parseNested(text, where);
  return some === undefined ? undefined : { some: stall(some), full: full && stall(full) };
}

function stall(row: Record<string, number>): Stall {
  return {
    avg10: row["avg10"] ?? 0,
    avg60: row["avg60"] ?? 0,
    avg300: row["avg300"] ?? 0,
    totalUsec: row["total"] ?? 0,
  };
}
