import { CgroupError } from "../error.ts";
import { parseFlat } from "../parse.ts";

/** The figures of the memory controller. */
export interface MemoryStats {
  currentBytes: number;
  /** Highest use ever; since Linux 5.19. */
  peakBytes: number | undefined;
  /** Processes here and below that the kernel killed for memory. In a group kill it counts the first one twice. */
  oomKills: number;
  /** Times a whole group was killed; since Linux 5.17, zero before. */
  oomGroupKills: number;
  /** Times the use was at the cap. */
  atMax: number;
}

/** The OOM part of `memory.events`. */
export type MemoryEvents = Pick<MemoryStats, "oomKills" | "oomGroupKills" | "atMax">;

/**
 * The text of `memory.max` for a percentage of the node's memory, `max` for none.
 *
 * Rounded down to whole pages, as the kernel does: it would read back differently otherwise.
 */
export function memoryMaxFor(percent: number | undefined, memoryBytes: number, pageSize: number): string {
  if (percent === undefined) return "max";
  if (!(percent > 0 && percent <= 100)) throw badPercent(percent, "it must be over 0 and at most 100");
  const bytes = Math.floor(((percent / 100) * memoryBytes) / pageSize) * pageSize;
  if (!Number.isSafeInteger(bytes) || bytes < pageSize) {
    throw badPercent(percent, `of ${memoryBytes} bytes it is less than one page of ${pageSize}`);
  }
  return String(bytes);
}

/** Parses `memory.events`. */
export function parseMemoryEvents(text: string, where = "memory.events"): MemoryEvents {
  const flat = parseFlat(text, where);
  return {
    oomKills: flat["oom_kill"] ?? 0,
    oomGroupKills: flat["oom_group_kill"] ?? 0,
    atMax: flat["max"] ?? 0,
  };
}

function badPercent(percent: number, why: string): CgroupError {
  return new CgroupError(`cannot cap the memory at ${percent}%: ${why}`, {
    path: "",
    file: "memory.max",
    value: String(percent),
    code: "ERANGE",
  });
}
