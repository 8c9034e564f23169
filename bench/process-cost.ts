/** Reads the cost of a process so far, as the kernel counts it. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessCost {
  /** CPU time of the process, in seconds. */
  cpuSeconds: number;
  /** CPU time of its children that ended and were waited for. */
  childSeconds: number;
  residentMB: number;
  /** Private memory: the rest is page cache of files, shared and reclaimable. */
  anonymousMB: number;
}

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Reads `/proc/PID`. */
export function readCost(pid: number): ProcessCost {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program name may contain spaces and parentheses; the fields start after its last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return {
    cpuSeconds: (user + system) / ticksPerSecond,
    childSeconds: (childUser + childSystem) / ticksPerSecond,
    residentMB: megabytes("VmRSS"),
    anonymousMB: megabytes("RssAnon"),
  };
}

/** Returns the CPU time of a process's live threads, in milliseconds: exact, while `cpuSeconds` has hundredths. */
export function readRunMs(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds / 1e6, 0);
}

/** Returns the peak resident memory of a process. */
export function readPeakMB(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
