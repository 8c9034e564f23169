import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the files of a target, in memory if possible: a disk would take most of the time. */
export function scratchFolder(name: string): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), `nckubelet-fuzz-${name}-`));
}
