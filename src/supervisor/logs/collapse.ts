/**
 * Takes whole blocks off the head of a file while others append to it: `fallocate --collapse-range` (ext4 and xfs; since
 * Linux 3.15). The kernel does it in one step that excludes writers, so no byte of theirs can fall in between.
 *
 * The command may outlive an agent that is killed. It therefore works only while it holds a lock on the copy of the head, and
 * only if the copy is still where it was: whoever moves the copy away and then gets the lock knows that nothing will come.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { FileHandle } from "node:fs/promises";
import { cleanPath } from "../../lib/shell.ts";

/** The copy of a head, at the path where it is while it counts. */
export interface HeadCopy {
  path: string;
  file: FileHandle;
}

/** Takes `bytes` off the head of the log; answers "unsupported" where this file system cannot. */
export type Collapse = (log: FileHandle, copy: HeadCopy, bytes: number) => Promise<"done" | "unsupported">;

const collapseScript = `flock -n 1 && [ "$1" -ef /proc/self/fd/1 ] || exit 75
exec fallocate --collapse-range --offset 0 --length "$2" /proc/self/fd/0`;

/** The collapse of the kernel, by util-linux. Descriptors are passed, not paths: no link can be put in between. */
export const fallocateCollapse: Collapse = async (log, { path, file }, bytes) => {
  const { code, complaint } = await runShell(collapseScript, [path, String(bytes)], [log, file]);
  if (code === 0) return "done";
  // Not found, not executable, not this file system, not this block size.
  if (code === 126 || code === 127 || /not supported|invalid argument|unrecognized option/i.test(complaint)) {
    return "unsupported";
  }
  const full = /no space left/i.test(complaint) ? { code: "ENOSPC" } : {};
  throw Object.assign(new Error(`cannot collapse ${bytes} bytes: ${complaint || `status ${code}`}`), full);
};

/** Waits for the end of a collapse that an agent before this one began with this copy. */
export async function awaitCollapse(copy: FileHandle): Promise<void> {
  await runShell("flock -w 60 1", [], [undefined, copy]);
}

async function runShell(script: string, args: string[], [stdin, stdout]: (FileHandle | undefined)[]) {
  const child = spawn("/bin/sh", ["-c", script, "nckubelet-logs", ...args], {
    cwd: "/",
    env: { PATH: cleanPath, LC_ALL: "C" },
    stdio: [stdin?.fd ?? "ignore", stdout?.fd ?? "ignore", "pipe"],
  });
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => complaint = (complaint + text).slice(0, 1000));
  const [code] = await once(child, "close") as [number | null];
  return { code, complaint: complaint.trim() };
}
