import type { ChildProcess } from "node:child_process";
import process from "node:process";

/** Sends a signal to a child that was started as the leader of its process group, and to all of that group. */
export function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // It already ended.
  }
}
