/** Freezes and thaws all processes of a cgroup at once. `cgroup.freeze` since Linux 5.2. */
import { readTextIfAny, writeTextIfAny } from "./file.ts";
import { waitUntilFrozen } from "./events.ts";

/**
 * Freezes the cgroup and everything below it, and waits until no process runs.
 *
 * False after the timeout (a process in uninterruptible sleep), or if the kernel cannot freeze: then some processes may still run.
 * A frozen process handles no signal but SIGKILL until its thaw.
 */
export async function freeze(dir: string, { timeoutMs = 1000 } = {}): Promise<boolean> {
  if (!writeTextIfAny(dir, "cgroup.freeze", "1")) return false;
  return await waitUntilFrozen(dir, { timeoutMs });
}

/** Resumes the processes, which then handle pending signals. Does nothing when the cgroup is gone. */
export function thaw(dir: string): void {
  writeTextIfAny(dir, "cgroup.freeze", "0");
}

/** Reports whether a freeze of this very cgroup was requested. */
export function isFreezeRequested(dir: string): boolean {
  return readTextIfAny(dir, "cgroup.freeze") === "1";
}
