/**
 * Sets the limits of a cgroup and restores them.
 *
 * Guarantees: every write is read back, and a file that then reads differently is an error that names file, value and errno.
 * `ensureLimits` writes only what differs, so a call without a difference costs a few reads. It can be called at any time, in any
 * state, and never kills.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CgroupError, readBackError } from "../error.ts";
import { readTextIfAny, writeText } from "../file.ts";
import type { Limit } from "./limits.ts";
import { resizeMemory, type ResizePending } from "./resize.ts";

/** A limit whose file reads differently. `actual` is undefined if the kernel has no such file. */
export interface Drift extends Limit {
  actual: string | undefined;
}

export interface Ensured {
  /** The writes, in order. Empty without drift. */
  changed: Limit[];
  /** A memory cap that must wait until the app uses less. The next call continues with it. */
  pending?: ResizePending;
}

/** Writes the limits that differ from `wanted` and verifies them. Throws a CgroupError if one cannot be enforced. */
export async function ensureLimits(
  dir: string,
  wanted: readonly Limit[],
  { swapIsOn = readSwapIsOn } = {},
): Promise<Ensured> {
  const memoryMax = wanted.find(({ file }) => file === "memory.max");
  const drift = verifyLimits(dir, wanted, { swapIsOn });
  const changed: Limit[] = drift.length > 0 ? resetProtections(dir) : [];
  let mustResize = false;
  for (const { file, value, actual } of drift) {
    if (actual === undefined) throw missing(dir, file, value);
    if (memoryMax && (file === "memory.max" || file === "memory.high")) {
      mustResize = true;
      continue;
    }
    writeText(dir, file, value);
    const readBack = readTextIfAny(dir, file);
    if (readBack !== value) throw readBackError(dir, file, value, String(readBack));
    changed.push({ file, value });
  }
  if (!memoryMax || !mustResize) return { changed };
  // Both change together, in an order that kills nothing.
  const resized = await resizeMemory(dir, memoryMax.value);
  changed.push(...resized.changed);
  return resized.pending ? { changed, pending: resized.pending } : { changed };
}

/**
 * Resets what an app as root can write to get around a cap. `cpu.max.burst` makes every lower `cpu.max` fail with EINVAL; `memory.low`
 * and `memory.min` keep memory from being reclaimed.
 */
export function resetProtections(dir: string): Limit[] {
  const reset = ["cpu.max.burst", "memory.low", "memory.min"].map((file) => ({ file, value: "0" }));
  const changed = reset.filter(({ file, value }) => (readTextIfAny(dir, file) ?? value) !== value);
  for (const { file, value } of changed) writeText(dir, file, value);
  return changed;
}

/** Returns the limits that differ from `wanted`, without writing. A pending resize counts as drift. */
export function verifyLimits(
  dir: string,
  wanted: readonly Limit[],
  { swapIsOn = readSwapIsOn } = {},
): Drift[] {
  const drift: Drift[] = [];
  for (const { file, value } of wanted) {
    const actual = readTextIfAny(dir, file);
    if (actual === value) continue;
    // No cap, and no file for one.
    if (actual === undefined && value.startsWith("max")) continue;
    // A kernel without swap accounting cannot cap swap, and need not if there is none.
    if (actual === undefined && file === "memory.swap.max" && !swapIsOn()) continue;
    drift.push({ file, value, actual });
  }
  return drift;
}

function missing(dir: string, file: string, value: string): CgroupError {
  const what = `cannot write ${JSON.stringify(value)} to ${join(dir, file)}: ENOENT`;
  return new CgroupError(what, { code: "ENOENT" });
}

/** `/proc/swaps` has a heading and one line per swap area; a kernel without swap has no such file. */
function readSwapIsOn(): boolean {
  try {
    return readFileSync("/proc/swaps", "latin1").trim().split("\n").length > 1;
  } catch {
    return false;
  }
}
