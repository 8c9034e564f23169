/**
 * Signals to everything in a cgroup.
 *
 * Guarantee: no process slips through by forking: `cgroup.kill` is atomic in the kernel (since Linux 5.14), and
 * where it lacks, the cgroup is frozen while it is listed and signalled.
 * Caveat: without `cgroup.freeze` too (before Linux 5.2) a process that forks faster than it is killed can
 * outrun the rounds; `kill` then ends with an error, not in silence.
 */
import { existsSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { CgroupError, errnoOf } from "./error.ts";
import { isPopulated } from "./events.ts";
import { writeTextIfAny } from "./file.ts";
import { freeze, isFreezeWanted, thaw } from "./freeze.ts";
import { listProcesses } from "./processes.ts";
import { waitUntilEmpty } from "./wait.ts";

export interface KillOptions {
  /** Whether to use `cgroup.kill`; default: if the kernel has it. */
  hasKill?: boolean;
  /** Bound for the rounds of the way without `cgroup.kill`. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** SIGKILLs every process in `dir` and below. They are dying when it returns: `waitUntilEmpty` sees the end. */
export async function kill(
  dir: string,
  { hasKill = existsSync(`${dir}/cgroup.kill`), timeoutMs = 5000, signal }: KillOptions = {},
): Promise<void> {
  if (!isPopulated(dir)) return;
  if (hasKill) return void writeTextIfAny(dir, "cgroup.kill", "1");
  const deadline = performance.now() + timeoutMs;
  try {
    do {
      // SIGKILL ends a frozen process without a thaw. Again each round: it may have been thawed by someone else.
      await freeze(dir, { timeoutMs: ROUND_MS, signal });
      for (const pid of listProcesses(dir)) sendSignal(pid, "SIGKILL");
      if (await waitUntilEmpty(dir, { timeoutMs: ROUND_MS, signal })) return;
    } while (performance.now() < deadline);
  } finally {
    thaw(dir);
  }
  const left = listProcesses(dir);
  throw new CgroupError(`cannot kill ${dir} in ${timeoutMs} ms: processes ${left.join(", ")} live on`, {
    path: dir,
    value: left.join(" "),
    code: "ETIMEDOUT",
  });
}

/** Sends one signal to every process in `dir` and below, and returns how many got it. */
export async function signalAll(
  dir: string,
  name: NodeJS.Signals,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<number> {
  // Someone else's freeze stays: the signal is taken when they thaw.
  const wasFrozen = isFreezeWanted(dir);
  try {
    if (!wasFrozen) await freeze(dir, { timeoutMs: ROUND_MS, signal });
    return listProcesses(dir).filter((pid) => sendSignal(pid, name)).length;
  } finally {
    if (!wasFrozen) thaw(dir);
  }
}

const ROUND_MS = 250;

function sendSignal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (cause) {
    if (errnoOf(cause) === "ESRCH") return false;
    throw new CgroupError(`cannot send ${name} to process ${pid}`, {
      path: `/proc/${pid}`,
      value: name,
      cause,
    });
  }
}
