/**
 * Moving a memory cap under a running app.
 *
 * Guarantees: `memory.max` is never set below the current use, because the kernel answers that with OOM kills;
 * a resize by itself kills nothing. Each step looks at the files alone, so a new agent continues where the last
 * one stopped, and a change of mind half way is just another step.
 * Caveats: an app that really holds more than its new cap stays pending until it lets go; until then the kernel
 * slows its new allocations down (`memory.high`). An app that grows past the new cap once it is set is killed
 * at the cap, as any other.
 */
import { readBackError } from "../error.ts";
import { readText, writeTextInBackground } from "../file.ts";
import type { Limit } from "./limits.ts";
import { parseAmount } from "../parse.ts";

/** What the memory files read. Infinity is `max`. */
export interface MemoryState {
  max: number;
  high: number;
  current: number;
}

/** A shrink that has to wait for the app to use less. */
export interface ResizePending {
  reason: "ResizePending";
  wantedBytes: number;
  currentBytes: number;
  message: string;
}

/** One step: the write to do next, or the end, with or without the cap in place. */
export type ResizeStep =
  | { kind: "write"; file: "memory.max" | "memory.high"; value: string }
  | { kind: "done" }
  | { kind: "pending"; pending: ResizePending };

/** The next step from what the files read now towards a cap of `wanted` bytes. Pure. */
export function nextResizeStep(state: MemoryState, wanted: number): ResizeStep {
  if (wanted >= state.max || state.current <= wanted) {
    // Grow, or shrink to what fits: the cap first, and only then is the brake let go.
    if (state.max !== wanted) return { kind: "write", file: "memory.max", value: amountText(wanted) };
    if (state.high !== Infinity) return { kind: "write", file: "memory.high", value: "max" };
    return { kind: "done" };
  }
  if (state.high !== brakeFor(wanted)) {
    return { kind: "write", file: "memory.high", value: amountText(brakeFor(wanted)) };
  }
  return {
    kind: "pending",
    pending: {
      reason: "ResizePending",
      wantedBytes: wanted,
      currentBytes: state.current,
      message: `${state.current} bytes in use, the new cap is ${wanted}: waiting for the app to use less`,
    },
  };
}

/** Walks the steps in `dir` until the cap is in place or must wait. `changed` lists what now reads differently. */
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
      // The kernel reclaims within a write of memory.high: what an earlier call could not free, this one may.
      await writeTextInBackground(dir, "memory.high", readText(dir, "memory.high"));
      isReclaimed = true;
      continue;
    }
    // High, max, high again is the longest way: a fourth write means that one did not take.
    if (writes === 3) throw readBackError(dir, step.file, step.value, readText(dir, step.file));
    await writeTextInBackground(dir, step.file, step.value);
    isReclaimed ||= step.file === "memory.high";
    changed.push({ file: step.file, value: step.value });
  }
}

/**
 * Where `memory.high` goes for a shrink to `wanted`: a little below, because the use of an app that reads many
 * files stays right at `memory.high`, and must come to stay under `wanted`.
 */
function brakeFor(wanted: number): number {
  return Math.floor((wanted - wanted / 64) / BRAKE_STEP) * BRAKE_STEP || wanted;
}

/** Whole pages on every Linux, so that it reads back as written. */
const BRAKE_STEP = 65_536;

function readMemoryState(dir: string): MemoryState {
  const read = (file: string) => parseAmount(readText(dir, file), `${dir}/${file}`);
  return { max: read("memory.max"), high: read("memory.high"), current: read("memory.current") };
}

function amountText(bytes: number): string {
  return bytes === Infinity ? "max" : String(bytes);
}
