/**
 * Whether the node runs short of memory, disk or process IDs. Pure.
 *
 * Pressure starts at once and ends late: the resource has to stay well above its threshold for a while, so that an evicted app
 * is not started again into the same shortage.
 */
import type { DiskUsage, NodeUsage } from "./usage.ts";

export type Resource = "memory" | "disk" | "pid";

export interface PressureState {
  active: boolean;
  /** Since when there is enough again. */
  reliefSince?: number;
  /** It is short at this moment; `active` stays on for a while after that. */
  short: boolean;
  /** What is short, for users. */
  message: string;
}

export type Pressures = Record<Resource, PressureState>;

/** `short` starts pressure, `enough` ends it if it lasts, `between` changes nothing. */
interface Verdict {
  level: "short" | "between" | "enough";
  message: string;
}

const mebibyte = 1 << 20;
const gibibyte = 1 << 30;
/** This multiple of the threshold counts as enough. */
const relief = 1.5;
/** How long there must be enough before pressure ends. */
const holdMs = 60_000;

const calm: PressureState = { active: false, short: false, message: "" };

export const noPressure: Pressures = { memory: calm, disk: calm, pid: calm };

export function stepPressure(before: Pressures, usage: NodeUsage, now: number): Pressures {
  return {
    memory: step(before.memory, judgeMemory(usage), now),
    disk: step(before.disk, judgeDisk(usage.disk), now),
    pid: step(before.pid, judgeThreads(usage), now),
  };
}

/** The available memory below which there is pressure: 100 MiB or 2%, but at most a tenth of a small machine. */
export function memoryThreshold(totalBytes: number): number {
  return Math.min(totalBytes * 0.1, Math.max(100 * mebibyte, totalBytes * 0.02));
}

function step(before: PressureState, { level, message }: Verdict, now: number): PressureState {
  if (level === "short") return { active: true, short: true, message };
  if (!before.active) return before;
  if (level === "between") return { ...before, short: false, reliefSince: undefined };
  const reliefSince = before.reliefSince ?? now;
  if (now - reliefSince < holdMs) return { ...before, short: false, reliefSince };
  return calm;
}

function judgeMemory(usage: NodeUsage): Verdict {
  const { memoryAvailableBytes: available, memoryTotalBytes: total, memoryStallPCT = 0 } = usage;
  const threshold = memoryThreshold(total);
  // An app at its own cap stalls as well; a stall is the node's only if memory is about to run out.
  const stalls = memoryStallPCT >= 20 && available < threshold * 2;
  const message = `${mib(available)} of ${mib(total)} MiB of memory are available` +
    (stalls ? `, all work waits for memory ${memoryStallPCT}% of the time` : "");
  return { level: stalls ? "short" : levelOf(available, threshold), message };
}

function judgeDisk(disk: DiskUsage | undefined): Verdict {
  if (!disk) return { level: "between", message: "" };
  const { availableBytes, totalBytes, freeInodes, inodes } = disk;
  const space = levelOf(availableBytes, Math.min(totalBytes * 0.1, 4 * gibibyte));
  // Some file systems, such as btrfs, do not count inodes.
  const files = inodes === 0 ? "enough" : levelOf(freeInodes, inodes * 0.05);
  const message = space === "short" || files !== "short"
    ? `${mib(availableBytes)} of ${mib(totalBytes)} MiB of disk are available`
    : `${freeInodes} of ${inodes} inodes are free`;
  return { level: worst(space, files), message };
}

function judgeThreads({ threads, maxThreads }: NodeUsage): Verdict {
  if (!Number.isFinite(maxThreads)) return { level: "enough", message: "" };
  const message = `${threads} of ${maxThreads} process ids are in use`;
  return { level: levelOf(maxThreads - threads, maxThreads * 0.1), message };
}

function levelOf(free: number, threshold: number): Verdict["level"] {
  return free < threshold ? "short" : free < threshold * relief ? "between" : "enough";
}

function worst(...levels: Verdict["level"][]): Verdict["level"] {
  return (["short", "between"] as const).find((level) => levels.includes(level)) ?? "enough";
}

function mib(bytes: number): number {
  return Math.round(bytes / mebibyte);
}
