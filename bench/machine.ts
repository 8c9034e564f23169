/** Describes the machine and its other load. */
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";

export interface Machine {
  cpus: number;
  model: string;
  memoryGB: number;
  kernel: string;
  node: string;
}

/** Describes this machine. */
export function describeMachine(): Machine {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model.trim() ?? "unknown",
    memoryGB: Math.round(totalmem() / 1e9),
    kernel: release().split("-")[0] ?? release(),
    node: process.versions.node,
  };
}

/** Returns the share of all CPUs, in percent, that is busy while this process is idle. */
export async function measureOthers(ms = 1000): Promise<number> {
  const before = readTicks();
  await pause(ms);
  const after = readTicks();
  const all = after.all - before.all;
  return all === 0 ? 0 : Math.round((1 - (after.idle - before.idle) / all) * 100);
}

function readTicks(): { all: number; idle: number } {
  const fields = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.trim().split(/\s+/).slice(1, 9).map(
    Number,
  );
  const [, , , idle = 0, iowait = 0] = fields;
  return { all: fields.reduce((total, field) => total + field, 0), idle: idle + iowait };
}
