import { CgroupError } from "../error.ts";
import { parseFlat } from "../parse.ts";

export interface MemoryStats {
  currentBytes: number;
  kills: OomKills;
}

/** Out-of-memory kills here and below, since the cgroup was created. */
export interface OomKills {
  /** Killed processes. A group kill counts the first one twice. */
  processes: number;
  /** Kills of a whole group; undefined before Linux 5.17. */
  groups?: number;
}

/** Returns `memory.max` for a percentage of memory, rounded down to whole pages as the kernel does, so that it reads back equal. */
export function memoryMaxFor(percent: number | undefined, memoryBytes: number): string {
  if (percent === undefined) return "max";
  if (!(percent > 0 && percent <= 100)) throw badPercent(percent, "it must be above 0 and at most 100");
  const bytes = Math.floor(((percent / 100) * memoryBytes) / pageSize) * pageSize;
  if (!Number.isSafeInteger(bytes) || bytes < pageSize) {
    throw badPercent(percent, `that is less than one page (${pageSize} bytes) of ${memoryBytes} bytes`);
  }
  return String(bytes);
}

export function parseMemoryEvents(text: string, where = "memory.events"): OomKills {
  const flat = parseFlat(text, where);
  const groups = flat["oom_group_kill"];
  return { processes: flat["oom_kill"] ?? 0, ...(groups === undefined ? {} : { groups }) };
}

/** Whole pages for every page size of Linux (4, 16 or 64 KiB). */
const pageSize = 65_536;

function badPercent(percent: number, why: string): CgroupError {
  return new CgroupError(`cannot cap the memory at ${percent}%: ${why}`, { code: "ERANGE" });
}
