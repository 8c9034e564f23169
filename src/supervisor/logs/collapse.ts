/**
 * Removes whole blocks from the head of a file while others append to it: `fallocate --collapse-range` (ext4 and xfs, since
 * Linux 3.15). The kernel does so in one step that excludes writers, so none of their bytes can get lost.
 *
 * The command may outlive an agent that is killed. So it collapses only while it holds a lock on the copy of the head, and only if
 * the copy still has its path: after moving the copy away and taking the lock, an agent can be sure that no collapse follows.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { FileHandle } from "node:fs/promises";
import { cleanPath } from "../../lib/shell.ts";

/** The copy of a head. It is valid while it is at `path`. */
export interface HeadCopy {
  path: string;
  file: FileHandle;
}

/** Removes `bytes` from the head of the log; returns "unsupported" if the file system cannot. */
export type Collapse = (log: FileHandle, copy: HeadCopy, bytes: number) => Promise<"done" | "unsupported">;

const collapseScript = `flock -n 1 && [ "$1" -ef /proc/self/fd/1 ] || exit 75
exec fallocate --collapse-range --offset 0 --length "$2" /proc/self/fd/0`;

/** Collapses with fallocate(1). It gets descriptors, not paths, so a symbolic link cannot redirect it. */
export const fallocateCollapse: Collapse = async (log, { path, file }, bytes) => {
  const { code, stderr } = await runShell(collapseScript, [path, String(bytes)], [log, file]);
  if (code === 0) return "done";
  // The command is missing or not executable, or does not work with this file system or block size.
  if (code === 126 || code === 127 || /not supported|invalid argument|unrecognized option/i.test(stderr)) {
    return "unsupported";
  }
  const full = /no space left/i.test(stderr) ? { code: "ENOSPC" } : {};
  throw Object.assign(new Error(`cannot collapse ${bytes} bytes: ${stderr || `status ${code}`}`), full);
};

/** Frees the blocks of the first bytes: they read as zeros, and the log keeps its length. Throws if the file system cannot. */
export async function punchHead(log: FileHandle, bytes: number): Promise<void> {
  const script = 'exec fallocate --punch-hole --offset 0 --length "$1" /proc/self/fd/0';
  const { code, stderr } = await runShell(script, [String(bytes)], [log]);
  if (code !== 0) throw new Error(`cannot free ${bytes} bytes: ${stderr || `status ${code}`}`);
}

/** Waits for a collapse that an earlier agent started with this copy. */
export async function awaitCollapse(copy: FileHandle): Promise<void> {
  await runShell("flock -w 60 1", [], [undefined, copy]);
}

async function runShell(script: string, args: string[], [stdin, stdout]: (FileHandle | undefined)[]) {
  const child = spawn("/bin/sh", ["-c", script, "nckubelet-logs", ...args], {
    cwd: "/",
    env: { PATH: cleanPath, LC_ALL: "C" },
    stdio: [stdin?.fd ?? "ignore", stdout?.fd ?? "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => stderr = (stderr + text).slice(0, 1000));
  const [code] = await once(child, "close") as [number | null];
  return { code, stderr: stderr.trim() };
}
