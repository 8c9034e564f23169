/**
 * Returns memory to the system that an idle agent would keep forever: from its start, a takeover of many apps, a busy hour.
 */
import process from "node:process";
import type { Logger } from "../lib/log.ts";
import { repeat } from "../lib/sleep.ts";

const checkMs = 5000;
/** The share of a core, between two checks, above which the agent is busy: a pause to collect would come at a bad time. */
const busyShare = 0.1;
/** Checks between two collections of a quiet agent, which makes little garbage. */
const checksBetween = 120;

/**
 * Collects garbage after each busy period, and occasionally, and gives free memory back. Only the built executable exposes `gc`.
 */
export async function returnMemory(signal: AbortSignal, log: Logger): Promise<void> {
  const { gc } = globalThis as { gc?: (options: object) => void };
  if (!gc) return;
  const trim = findTrim();
  const shouldCollect = createCollectTimes();
  let last = process.cpuUsage();
  await repeat(checkMs, signal, async () => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    if (shouldCollect((user + system) / 1000 / checkMs)) {
      gc({ type: "major", execution: "sync", flavor: "last-resort" });
      trim?.();
    }
  }, log);
}

/** Returns a function that decides, check by check, whether to collect; `share` is the share of a core used since the last check. */
export function createCollectTimes(): (share: number) => boolean {
  let isDue = true;
  let checks = 0;
  return (share) => {
    if (share > busyShare || ++checks >= checksBetween) isDue = true;
    if (share > busyShare || !isDue) return false;
    isDue = false;
    checks = 0;
    return true;
  };
}

/**
 * Returns glibc's `malloc_trim`, which gives back what was freed between parts that are in use, in all threads; `free` itself gives
 * back only what is free at the end of the heap. Undefined if the runtime cannot call it: `node:ffi` is experimental.
 */
export function findTrim(): (() => void) | undefined {
  try {
    const ffi = process.getBuiltinModule("node:ffi") as unknown as ForeignFunctions;
    const library = ffi.dlopen("libc.so.6", { malloc_trim: { arguments: ["uint64"], return: "int32" } });
    return () => void library.functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}

/** The used part of `node:ffi`. */
interface ForeignFunctions {
  dlopen(name: string, types: { malloc_trim: { arguments: ["uint64"]; return: "int32" } }): {
    functions: { malloc_trim(keptBytes: bigint): number };
  };
}
