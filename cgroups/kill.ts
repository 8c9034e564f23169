/**
 * Sends signals to every process of a cgroup.
 *
 * Guarantee: no process escapes by forking. `cgroup.kill` is atomic in the kernel (since Linux 5.14); without it, the cgroup is frozen
 * while its processes are listed and signaled.
 * Caveat: without `cgroup.freeze` (before Linux 5.2), processes may fork faster than they are killed; `kill` then throws.
 */
import { existsSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { CgroupError, errnoOf } from "./error.ts";
import { isPopulated, waitUntilEmpty } from "./events.ts";
import { writeTextIfAny } from "./file.ts";
import { freeze, isFreezeRequested, thaw } from "./freeze.ts";
import { listProcesses } from "./processes.ts";

/**
 * Sends SIGKILL to every process in `dir` and below. Use `waitUntilEmpty` to wait for their end. `timeoutMs` limits the rounds without
 * `cgroup.kill`.
 */
export async function kill(
  dir: string,
  { hasKill = existsSync(`${dir}/cgroup.kill`), timeoutMs = 5000 } = {},
): Promise<void> {
  if (!isPopulated(dir)) return;
  if (hasKill) return void writeTextIfAny(dir, "cgroup.kill", "1");
  const deadline = performance.now() + timeoutMs;
  try {
    do {
      // SIGKILL ends a frozen process without a thaw. Freeze in each round: another process may have thawed the cgroup.
      await freeze(dir, { timeoutMs: ROUND_MS });
      for (const pid of listProcesses(dir)) sendSignal(pid, "SIGKILL");
      if (await waitUntilEmpty(dir, { timeoutMs: ROUND_MS })) return;
    } while (performance.now() < deadline);
  } finally {
    thaw(dir);
  }
  const survivors = listProcesses(dir);
  throw new CgroupError(
    `cannot kill ${dir} in ${timeoutMs} ms: processes ${survivors.join(", ")} are still alive`,
    { code: "ETIMEDOUT" },
  );
}

/** Sends a signal to every process in `dir` and below, and returns how many received it. */
export async function signalAll(dir: string, name: NodeJS.Signals): Promise<number> {
  // A freeze by another process stays: the signal is delivered at its thaw.
  const wasFrozen = isFreezeRequested(dir);
  try {
    if (!wasFrozen) await freeze(dir, { timeoutMs: ROUND_MS });
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
    throw new CgroupError(`cannot send ${name} to process ${pid}`, { cause });
  }
}
