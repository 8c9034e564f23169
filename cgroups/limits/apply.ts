/**
 * Bringing a cgroup to its limits and keeping it there.
 *
 * Guarantees: every write is read back, and a file that then reads anything else is an error naming file, value
 * and errno. `ensureLimits` writes only what differs, so a call with nothing to do costs a few reads; it may be
 * called at any time, from any state, and never kills.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CgroupError, readBackError } from "../error.ts";
import { readTextIfAny, writeText } from "../file.ts";
import type { Limit } from "./limits.ts";
import { resizeMemory, type ResizePending } from "./resize.ts";

/** A limit that does not read as wanted. `actual` is undefined where the kernel has no such file. */
export interface Drift extends Limit {
  actual: string | undefined;
}

/** What a call of `ensureLimits` did. */
export interface Ensured {
  /** The writes, in order. Empty when nothing had drifted. */
  changed: Limit[];
  /** A memory cap that must wait for the app to use less. The next call goes on with it. */
  pending?: ResizePending;
}

/** Effects of this file, replaceable for tests. */
export interface ApplyEffects {
  /** Whether the node swaps. A kernel without swap accounting can hold no swap cap, and needs none without swap. */
  swapIsOn?: () => boolean;
}

/** Writes whatever differs from `wanted` and verifies it. Throws a CgroupError for what cannot be held. */
export async function ensureLimits(
  dir: string,
  wanted: readonly Limit[],
  effects: ApplyEffects = {},
): Promise<Ensured> {
  const memoryMax = wanted.find(({ file }) => file === "memory.max");
  const changed: Limit[] = [];
  let mustResize = false;
  for (const { file, value, actual } of verifyLimits(dir, wanted, effects)) {
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
  // The two move together, in an order that kills nothing.
  const resized = await resizeMemory(dir, memoryMax.value);
  changed.push(...resized.changed);
  return resized.pending ? { changed, pending: resized.pending } : { changed };
}

/** The limits that do not read as wanted, by reads alone. A pending resize is drift, too. */
export function verifyLimits(
  dir: string,
  wanted: readonly Limit[],
  { swapIsOn = readSwapIsOn }: ApplyEffects = {},
): Drift[] {
  const drift: Drift[] = [];
  for (const { file, value } of wanted) {
    const actual = readTextIfAny(dir, file);
    if (actual === value) continue;
    // No cap wanted, and no file that could hold one.
    if (actual === undefined && value.startsWith("max")) continue;
    if (actual === undefined && file === "memory.swap.max" && !swapIsOn()) continue;
    drift.push({ file, value, actual });
  }
  return drift;
}

function missing(dir: string, file: string, value: string): CgroupError {
  const what = `cannot write ${JSON.stringify(value)} to ${join(dir, file)}: ENOENT`;
  return new CgroupError(what, { path: dir, file, value, code: "ENOENT" });
}

/** `/proc/swaps` has one line per swap under its heading; a kernel without swap has no such file. */
function readSwapIsOn(): boolean {
  try {
    return readFileSync("/proc/swaps", "latin1").trim().split("\n").length > 1;
  } catch {
    return false;
  }
}
