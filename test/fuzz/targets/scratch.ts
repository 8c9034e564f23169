import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the files of a target, in memory where the machine has such a place: a disk would be most of the time. */
export function scratchFolder(name: string): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), `nckubelet-fuzz-${name}-`));
}
