/**
 * Reads and writes single interface files.
 *
 * Guarantees: a write is one write(2) call, which the kernel parses as a whole. It never creates or truncates a file, so a file that
 * the kernel does not have is ENOENT. Errors name file, value and errno.
 * Caveat: reads are synchronous on purpose: they never touch a disk and take about 10 microseconds, a third of the same read through
 * the thread pool.
 */
import { Buffer } from "node:buffer";
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { CgroupError, errnoOf } from "./error.ts";

/** Returns the text of `dir/file`, without the last line end. */
export function readText(dir: string, file: string): string {
  const text = readTextIfAny(dir, file);
  if (text !== undefined) return text;
  throw new CgroupError(`cannot read ${join(dir, file)}: ENOENT`, { code: "ENOENT" });
}

/** As `readText`, but undefined if this kernel has no such file, or the cgroup is gone. */
export function readTextIfAny(dir: string, file: string): string | undefined {
  const path = `${dir}/${file}`;
  try {
    const text = readAll(path);
    return text.endsWith("\n") ? text.slice(0, -1) : text;
  } catch (cause) {
    if (GONE.has(errnoOf(cause))) return undefined;
    throw new CgroupError(`cannot read ${path}`, { cause });
  }
}

/** Returns the text of an interface file, faster than `readFileSync`: open, one read, close. */
export function readAll(path: string | Buffer): string {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    const length = readSync(fd, page, 0, page.length, null);
    // The kernel returns up to a page in one read; only lists are longer.
    return length < completeBelow ? page.toString("latin1", 0, length) : readFileSync(path, "latin1");
  } finally {
    closeSync(fd);
  }
}

export function writeText(dir: string, file: string, value: string): void {
  try {
    const fd = openSync(`${dir}/${file}`, constants.O_WRONLY);
    try {
      writeSync(fd, value);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw writeError(dir, file, value, cause);
  }
}

/** As `writeText`, but false if this kernel has no such file, or the cgroup is gone. */
export function writeTextIfAny(dir: string, file: string, value: string): boolean {
  try {
    writeText(dir, file, value);
    return true;
  } catch (error) {
    if (GONE.has(errnoOf(error))) return false;
    throw error;
  }
}

/** As `writeText`, for writes that take long: the kernel reclaims memory within a write that lowers a limit. */
export async function writeTextInBackground(dir: string, file: string, value: string): Promise<void> {
  try {
    const handle = await open(`${dir}/${file}`, constants.O_WRONLY);
    try {
      await handle.write(value);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw writeError(dir, file, value, cause);
  }
}

/** One buffer for all reads: they are synchronous, so only one is active. */
const page = Buffer.allocUnsafe(16_384);
/** The smallest page size minus the longest line of a list: a shorter read has reached the end of the file. */
const completeBelow = 4096 - 64;

/** ENODEV: the cgroup was removed after the open. */
const GONE = new Set(["ENOENT", "ENODEV"]);

function writeError(dir: string, file: string, value: string, cause: unknown): CgroupError {
  return new CgroupError(`cannot write ${JSON.stringify(value)} to ${join(dir, file)}`, { cause });
}
