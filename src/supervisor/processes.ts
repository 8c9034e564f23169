/** Processes as /proc shows them. A process is identified by pid and start time together, never by its pid alone. */
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { errorCode } from "../lib/files.ts";
import type { ProcessId } from "./types.ts";

/** The environment variable that marks the processes of a run, to find them without a cgroup. */
export const runMarker = "NCAPP_RUN";

export interface ProcessStat extends ProcessId {
  state: string;
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
  // After the name: state is field 3 of proc(5), the four times are fields 14 to 17, the start time is field 22.
  const fields = line.slice(close + 2).trimEnd().split(" ", 20);
  const [state, startTime] = [fields[0], fields[19]];
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  if (!state || !startTime || Number.isNaN(ticks)) return undefined;
  return { pid: Number(pid), startTime, state, cpuSeconds: ticks / ticksPerSecond };
}

/** Reports whether exactly this process still runs; a zombie does not. Synchronous, since it is called often. */
export function isAlive({ pid, startTime }: ProcessId): boolean {
  return livingStat(readProcNow(`/proc/${pid}/stat`))?.startTime === startTime;
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

/** The living processes of every run, by the marker in the environment they were started with; one pass over /proc. */
export async function scanMarkers(): Promise<Map<string, ProcessStat[]>> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const runs = new Map<string, ProcessStat[]>();
  await Promise.all(pids.map(async (pid) => {
    const environment = await readProc(`/proc/${pid}/environ`);
    const runId = markerOf(environment);
    const stat = runId && await readStat(pid);
    if (stat) runs.set(runId, [...runs.get(runId) ?? [], stat]);
  }));
  return runs;
}

/** Resident memory in bytes; zero for a process that is gone. Synchronous: for a file this small, a thread costs ten times as much. */
export function sumResidentBytes(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + readResidentBytes(pid), 0);
}

function readResidentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProcNow(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

export async function readBootId(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}

function markerOf(environment: string): string {
  const prefix = `${runMarker}=`;
  return environment.split("\0").find((variable) => variable.startsWith(prefix))?.slice(prefix.length) ?? "";
}

async function readStat(pid: number): Promise<ProcessStat | undefined> {
  return livingStat(await readProc(`/proc/${pid}/stat`));
}

/** A living process, or undefined: a zombie has released everything. */
function livingStat(line: string): ProcessStat | undefined {
  const stat = parseStat(line);
  return stat && stat.state !== "Z" && stat.state !== "X" ? stat : undefined;
}

const gone = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/** Reads a file of /proc; empty if its process is gone or another user's. Other errors (EMFILE) say nothing about it and are thrown. */
async function readProc(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(nothingIfGone);
}

/** Only for files that no process can block: not for its environment, which waits for the lock of its memory map. */
function readProcNow(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return nothingIfGone(error);
  }
}

function nothingIfGone(error: unknown): string {
  if (gone.includes(errorCode(error))) return "";
  throw error;
}
