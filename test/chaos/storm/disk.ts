/** A small, separate file system that faults fill up. */
import { execFile } from "node:child_process";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const sizeMiB = 64;
const chunk = new Uint8Array(1 << 20);

export interface Disk {
  /** Fills the remaining space. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** Unmounts it, even while programs have files open there. */
  unmount(): Promise<void>;
}

/**
 * Mounts a file system at `path`: ext4 where logs must be cut without loss, tmpfs elsewhere. The caller runs in its own mount
 * namespace, so that nothing is left mounted.
 */
export async function mountDisk(path: string, kind: "ext4" | "tmpfs"): Promise<Disk> {
  await mkdir(path, { recursive: true });
  if (kind === "tmpfs") {
    await run("mount", ["-t", "tmpfs", "-o", `size=${sizeMiB}m,mode=755`, "tmpfs", path]);
  } else {
    const image = `${path}.img`;
    await run("truncate", ["-s", `${sizeMiB}M`, image]);
    // No journal, which would take a tenth of the space. No reserve, which root could use.
    await run("mkfs.ext4", ["-q", "-m", "0", "-O", "^has_journal", image]);
    await run("mount", ["-o", "loop", image, path]);
  }
  const ballast = join(path, ".ballast");
  return {
    fill: () => fillUp(ballast),
    free: () => rm(ballast, { force: true }),
    unmount: async () => void await run("umount", ["--lazy", path]),
  };
}

/** Mounts an empty /run, where a fault announces that the machine goes down. The caller runs in its own mount namespace. */
export async function mountOwnRun(): Promise<void> {
  await run("mount", ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]);
}

async function fillUp(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (let size = chunk.length; size >= 1; size = Math.floor(size / 16)) {
      while (await fits(file, size));
    }
  } finally {
    await file.close();
  }
}

async function fits(file: Awaited<ReturnType<typeof open>>, size: number): Promise<boolean> {
  try {
    await file.write(chunk, 0, size);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
