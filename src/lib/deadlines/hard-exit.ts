import process from "node:process";

/**
 * Ends the process even if a thread is blocked by a hung file system. `process.exit` would wait for that thread; execve ends the
 * threads of a process without a wait, and a shell sets the exit status.
 *
 * Caveat: a thread that waits for a FUSE program which has read its request and then stopped cannot be ended by anything, SIGKILL
 * included; such a process ends when the program answers or is killed.
 */
export function hardExit(code: number): void {
  // Deno has no execve, and its exit does not wait for threads.
  process.execve?.("/bin/sh", ["sh", "-c", `exit ${code}`], {});
  process.exit(code);
}
