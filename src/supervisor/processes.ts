/** Processes as /proc shows them. A process is identified by pid and start time together, never by its pid alone. */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import process from "node:process";
import { errorCode } from "../lib/files.ts";
import type { ProcessId } from "./types.ts";

/** The environment variable that marks the processes of a run, to find them without a cgroup. */
export const runMarker = "NCAPP_RUN";

/** The environment variable of exec processes; its value is the id of the run. Running apps have it, so it keeps its name. */
export const execMarker = "NCAPP_VISITOR";
/** In the environment of stop files, exec probes and `nckubelet exec`: the main process of the app, as in its status. */
export const pidVariable = "NCAPP_PID";

export interface ProcessStat extends ProcessId {
  state: string;
  parent: number;
  group: number;
  session: number;
  isKernelThread: boolean;
  /** CPU time of the process and of the children it has waited for. */
  cpuSeconds: number;
}

// USER_HZ: 100 on every architecture in use, independent of the kernel's own tick.
const ticksPerSecond = 100;

/** Parses a line of /proc/PID/stat; the name in it may contain spaces and brackets. */
export function parseStat(line: string): ProcessStat | undefined {
  const [open, close] = [line.indexOf(" ("), line.lastIndexOf(") ")];
  const pid = line.slice(0, open);
  if (open < 0 || close < open + 2 || !/^\d{1,10}$/.test(pid)) return undefined;
  // After the name: state is field 3 of proc(5), flags is field 9, the four times are 14 to 17, the start time is 22.
  const fields = line.slice(close + 2).trimEnd().split(" ", 20);
  const [state, startTime] = [fields[0], fields[19]];
  const [parent = NaN, group = NaN, session = NaN] = fields.slice(1, 4).map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  if (!state || !startTime || Number.isNaN(ticks + parent + group + session)) return undefined;
  const isKernelThread = (Number(fields[6]) & kernelThreadFlag) !== 0;
  const cpuSeconds = ticks / ticksPerSecond;
  return { pid: Number(pid), startTime, state, parent, group, session, isKernelThread, cpuSeconds };
}

/** PF_KTHREAD */
const kernelThreadFlag = 0x200000;

/** Reports whether exactly this process still runs; a zombie does not. Synchronous, since it is called often. */
export function isAlive({ pid, startTime }: ProcessId): boolean {
  return readStat(pid)?.startTime === startTime;
}

/**
 * Reports whether any process has this pid, at a tenth of the cost of reading /proc. Caveat: it may be another process by now, or a
 * zombie, so this is only for checks between two calls of `isAlive`.
 */
export function pidExists({ pid }: ProcessId): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

/** Sends a signal if the pid still belongs to this process. */
export async function signalProcess(target: ProcessId, signal: NodeJS.Signals): Promise<void> {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, signal);
  } catch (cause) {
    const code = errorCode(cause);
    if (code !== "ESRCH") {
      throw new Error(`cannot send ${signal} to process ${target.pid}: ${code}`, { cause });
    }
  }
}

/** The app that a process belongs to, by the environment it was started with. */
export async function appOfProcess(pid: number): Promise<{ namespace: string; name: string } | undefined> {
  const { NCAPP_NAMESPACE: namespace, NCAPP_NAME: name } =
    (await readVariables(pid, ["NCAPP_NAMESPACE", "NCAPP_NAME"]))?.values ?? {};
  return namespace && name ? { namespace, name } : undefined;
}

/** Resident memory in bytes; zero for a process that is gone. Synchronous: for a file this small, a thread costs ten times as much. */
export function sumResidentBytes(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + readResidentBytes(pid), 0);
}

function readResidentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProcNow(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** The process with this pid; undefined if there is none, or a zombie, which has released everything. */
export function readStat(pid: number): ProcessStat | undefined {
  const stat = parseStat(readProcNow(`/proc/${pid}/stat`));
  return stat && stat.state !== "Z" && stat.state !== "X" ? stat : undefined;
}

export interface Variables {
  /** Those that were asked for and are there. */
  values: Record<string, string | undefined>;
  /** Nothing is there, as in the middle of an execve. */
  isEmpty: boolean;
}

/** More than execve(2) accepts. Any process can make its environment as long as its memory (PR_SET_MM_MAP). */
const maxEnvironment = 8 * 2 ** 20;
/** Longer than a variable of ours. */
const maxVariable = 1024;

/**
 * Reads variables of the environment that a process was started with, in small pieces. Undefined for a process that has ended. One that
 * may not be read counts as a process without our variables.
 */
export async function readVariables(pid: number, names: string[]): Promise<Variables | undefined> {
  try {
    await using file = await open(`/proc/${pid}/environ`);
    const found = new Map<string, string>();
    const page = Buffer.alloc(65_536);
    // A variable starts behind a NUL byte; one that a piece has cut is whole in the next.
    let [piece, total, got] = [Buffer.from("\0"), 0, 1];
    while (got > 0 && total < maxEnvironment) {
      got = (await file.read(page, 0, page.length)).bytesRead;
      total += got;
      piece = Buffer.concat([
        piece.subarray(-maxVariable),
        got > 0 ? page.subarray(0, got) : Buffer.from("\0"),
      ]);
      for (const name of names) {
        const start = piece.indexOf(`\0${name}=`) + name.length + 2;
        const end = piece.indexOf(0, start);
        if (start > name.length + 1 && end >= 0 && !found.has(name)) {
          found.set(name, piece.toString("latin1", start, end));
        }
      }
    }
    return { values: Object.fromEntries(found), isEmpty: total === 0 };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    if (code === "EACCES" || code === "EPERM") return { values: {}, isEmpty: false };
    throw error;
  }
}

const gone = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/**
 * Reads a file of /proc; empty if its process is gone or another user's. Other errors (EMFILE) say nothing about it and are thrown.
 * Only for files that no process can block: not for its environment, which waits for the lock of its memory map.
 */
export function readProcNow(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (gone.includes(errorCode(error))) return "";
    throw error;
  }
}
