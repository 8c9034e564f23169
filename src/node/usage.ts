/**
 * How much of the node is in use, from a few small files in /proc that take well under a millisecond to read.
 *
 * CPU is the share of all CPUs between two readings; the first reading is the share since boot. Memory in use is what is not
 * available: caches that the kernel would free do not count.
 */
import { readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type CpuTimes, parseCpuTimes, parseMemory, parsePressure, parseThreads } from "./proc.ts";

export interface NodeUsage {
  /** When it was measured, in milliseconds since 1970. */
  time: number;
  /** CPU time since boot, over all CPUs. */
  cpuSeconds: number;
  /** Percent of all CPUs. */
  cpuPCT: number;
  /** Percent of the physical memory. */
  memPCT: number;
  memoryBytes: number;
  memoryTotalBytes: number;
  memoryAvailableBytes: number;
  /** Percent of the last 10 s in which all runnable processes waited for memory. Absent without PSI. */
  memoryStallPCT?: number;
  /** Processes and threads, and their limit. */
  threads: number;
  maxThreads: number;
  /** The file system of state and logs. */
  disk?: DiskUsage;
}

export interface DiskUsage {
  availableBytes: number;
  totalBytes: number;
  /** 0 of 0 if the file system does not count them. */
  freeInodes: number;
  inodes: number;
}

export type ReadUsage = () => Promise<NodeUsage>;

// USER_HZ: 100 on every architecture in use, independent of the kernel's own tick.
const ticksPerSecond = 100;

/** `diskPath` is a folder on the file system to measure. */
export function createUsageReader(
  { procDir = "/proc", diskPath }: { procDir?: string; diskPath?: string } = {},
): ReadUsage {
  let before: CpuTimes = { busy: 0, total: 0 };
  let cpuPCT = 0;
  const read = (path: string) => readFile(join(procDir, path), "utf8");
  const readIfExists = (path: string) => read(path).catch(() => "");

  return async () => {
    const cpu = parseCpuTimes(await read("stat"));
    // Two readings within one tick of the kernel's clock show no difference.
    if (cpu.total > before.total) cpuPCT = share(cpu.busy - before.busy, cpu.total - before.total);
    before = cpu;
    const { totalBytes, availableBytes } = parseMemory(await read("meminfo"));
    const limits = [await readIfExists("sys/kernel/pid_max"), await readIfExists("sys/kernel/threads-max")];
    return {
      time: Date.now(),
      cpuSeconds: cpu.busy / ticksPerSecond,
      cpuPCT,
      memPCT: share(totalBytes - availableBytes, totalBytes),
      memoryBytes: totalBytes - availableBytes,
      memoryTotalBytes: totalBytes,
      memoryAvailableBytes: availableBytes,
      memoryStallPCT: parsePressure(await readIfExists("pressure/memory"))?.full,
      threads: parseThreads(await readIfExists("loadavg")),
      maxThreads: Math.min(...limits.map((text) => Number.parseInt(text) || Infinity)),
      disk: diskPath === undefined ? undefined : await readDisk(diskPath).catch(() => undefined),
    };
  };
}

async function readDisk(path: string): Promise<DiskUsage> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path);
  return { availableBytes: bavail * bsize, totalBytes: blocks * bsize, freeInodes: ffree, inodes: files };
}

function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.max(0, part / whole * 100)) : 0;
}
