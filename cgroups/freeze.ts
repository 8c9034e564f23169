/** Stopping and resuming all processes of a cgroup at once. `cgroup.freeze` since Linux 5.2. */
import { readTextIfAny, writeTextIfAny } from "./file.ts";
import { waitUntilFrozen } from "./wait.ts";

/**
 * Freezes the cgroup and everything below it, and waits until nothing runs.
 *
 * False when that took too long (a process in uninterruptible sleep) or the kernel cannot freeze: then some
 * may still run. A frozen process takes no signal but SIGKILL until it is thawed.
 */
export async function freeze(
  dir: string,
  { timeoutMs = 1000, signal }: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  if (!writeTextIfAny(dir, "cgroup.freeze", "1")) return false;
  return await waitUntilFrozen(dir, { timeoutMs, signal });
}

/** Lets the processes go on. Pending signals are taken then. Does nothing when the cgroup is gone. */
export function thaw(dir: string): void {
  writeTextIfAny(dir, "cgroup.freeze", "0");
}

/** Whether someone asked for the freeze of this very cgroup. */
export function isFreezeWanted(dir: string): boolean {
  return readTextIfAny(dir, "cgroup.freeze") === "1";
}
