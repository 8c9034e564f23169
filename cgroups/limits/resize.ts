/**
 * Changes the memory cap of a running app.
 *
 * Guarantees: `memory.max` is never set below the current usage, because the kernel would respond with OOM kills; a resize itself kills
 * nothing. An app that uses more than its new cap cannot grow: `memory.max` is set a little above what it uses, and follows its usage
 * down with every call. Each step depends only on the files, so a new agent continues where the last one stopped, and a different cap
 * half way is just another step.
 * Caveats: an app that uses more than its new cap stays pending until it frees memory; until then the kernel throttles its allocations
 * (`memory.high`). An app that exceeds what is set is killed, like any other.
 */
import { readBackError } from "../error.ts";
import { readText, writeTextInBackground } from "../file.ts";
import type { Limit } from "./limits.ts";
import { parseAmount } from "../parse.ts";

/** The values of the memory files. Infinity is `max`. */
export interface MemoryState {
  max: number;
  high: number;
  current: number;
}

export interface ResizePending {
  wantedBytes: number;
  currentBytes: number;
  message: string;
}

export type ResizeStep =
  | { kind: "write"; file: "memory.max" | "memory.high"; value: string }
  | { kind: "done" }
  | { kind: "pending"; pending: ResizePending };

/** Returns the next step from the current state to a cap of `wanted` bytes. Pure. */
export function nextResizeStep(state: MemoryState, wanted: number): ResizeStep {
  if (wanted >= state.max || state.current <= wanted) {
    // Grow, or shrink to a cap that fits: first the cap, then the end of throttling.
    if (state.max !== wanted) return { kind: "write", file: "memory.max", value: amountText(wanted) };
    if (state.high !== Infinity) return { kind: "write", file: "memory.high", value: "max" };
    return { kind: "done" };
  }
  if (state.high !== throttleAt(wanted)) {
    return { kind: "write", file: "memory.high", value: amountText(throttleAt(wanted)) };
  }
  const bound = boundAbove(state.current);
  // Small gains are not worth a write.
  if (state.max - bound >= MIN_ROOM) return { kind: "write", file: "memory.max", value: amountText(bound) };
  return {
    kind: "pending",
    pending: {
      wantedBytes: wanted,
      currentBytes: state.current,
      message: `${state.current} bytes in use, the new cap is ${wanted}: waiting for the app to use less`,
    },
  };
}

/** Performs the steps in `dir` until the cap is in place or must wait. `changed` lists the writes. */
export async function resizeMemory(
  dir: string,
  wanted: string,
): Promise<{ changed: Limit[]; pending?: ResizePending }> {
  const target = parseAmount(wanted, "memory.max");
  const changed: Limit[] = [];
  let isReclaimed = false;
  for (let writes = 0;; writes++) {
    const step = nextResizeStep(readMemoryState(dir), target);
    if (step.kind === "done") return { changed };
    if (step.kind === "pending") {
      if (isReclaimed) return { changed, pending: step.pending };
      // The kernel reclaims memory within a write of memory.high: this one may succeed where an earlier call failed.
      await writeTextInBackground(dir, "memory.high", readText(dir, "memory.high"));
      isReclaimed = true;
      continue;
    }
    // The longest sequence is high, a bound, max, high. Usage that falls meanwhile adds bounds, but not many.
    if (writes === MAX_WRITES) throw readBackError(dir, step.file, step.value, readText(dir, step.file));
    await writeTextInBackground(dir, step.file, step.value);
    isReclaimed ||= step.file === "memory.high";
    changed.push({ file: step.file, value: step.value });
  }
}

/**
 * Returns `memory.high` for a shrink to `wanted`: a little below, because the usage of an app that reads many files stays right at
 * `memory.high`, and must get below `wanted`.
 */
function throttleAt(wanted: number): number {
  return Math.floor((wanted - wanted / 64) / HIGH_STEP) * HIGH_STEP || wanted;
}

/**
 * Returns `memory.max` for an app that uses more than its new cap: space for what it allocates between the reading and the write, while
 * `memory.high` throttles it. Less would kill.
 */
function boundAbove(current: number): number {
  return Math.ceil((current + Math.max(current / 64, MIN_ROOM)) / HIGH_STEP) * HIGH_STEP;
}

/** Whole pages on every Linux, so that the value reads back unchanged. */
const HIGH_STEP = 65_536;
const MIN_ROOM = 1 << 20;
const MAX_WRITES = 10;

function readMemoryState(dir: string): MemoryState {
  const read = (file: string) => parseAmount(readText(dir, file), `${dir}/${file}`);
  return { max: read("memory.max"), high: read("memory.high"), current: read("memory.current") };
}

function amountText(bytes: number): string {
  return bytes === Infinity ? "max" : String(bytes);
}
