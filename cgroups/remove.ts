import { rmdirSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { CgroupError, errnoOf } from "./error.ts";
import { listProcesses, listTree } from "./processes.ts";

/**
 * Removes a cgroup and everything below it, children first, including cgroups that the app created.
 *
 * It kills nothing. While a process is still exiting, the kernel returns EBUSY: that is retried for `timeoutMs`, and then is an error
 * that names the processes. Does nothing when the cgroup is gone.
 */
export async function removeTree(dir: string, { timeoutMs = 2000 } = {}): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = 1;; pause = Math.min(pause * 2, 100)) {
    try {
      for (const cgroup of listTree(dir).reverse()) removeCgroup(cgroup);
      return;
    } catch (cause) {
      if (errnoOf(cause) !== "EBUSY" || performance.now() >= deadline) throw removeError(dir, cause);
    }
    await sleep(pause);
  }
}

function removeCgroup(cgroup: Parameters<typeof rmdirSync>[0]): void {
  try {
    rmdirSync(cgroup);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

function removeError(dir: string, cause: unknown): CgroupError {
  const pids = listProcesses(dir);
  const who = pids.length === 0 ? "" : `, it contains processes ${pids.join(", ")}`;
  return new CgroupError(`cannot remove the cgroup ${dir}${who}`, { cause });
}
