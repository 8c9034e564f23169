import { cpuMaxFor } from "./cpu.ts";
import { memoryMaxFor } from "./memory.ts";
import { pidsMaxFor } from "./pids.ts";

/** What an app may use. A percentage is of the whole node; absent means no cap. */
export interface LimitSpec {
  cpuPCT?: number | undefined;
  memPCT?: number | undefined;
  pidsMax?: number | undefined;
  /** `Group` (default): the whole app dies together when it is out of memory. `Process`: only one process. */
  oomPolicy?: "Group" | "Process" | undefined;
}

/** What the percentages are of. */
export interface NodeSize {
  cpus: number;
  memoryBytes: number;
  /** Default 64 KiB: whole pages on every Linux, be its pages 4, 16 or 64 KiB. */
  pageSize?: number;
}

/** One interface file and what it shall read. */
export interface Limit {
  file: string;
  value: string;
}

/**
 * The whole list of files and values that hold an app to its limits. Pure.
 *
 * Throws a CgroupError (`ERANGE`) that names the value which no kernel file can express.
 */
export function limitsFor(spec: LimitSpec, node: NodeSize): Limit[] {
  const memoryMax = memoryMaxFor(spec.memPCT, node.memoryBytes, node.pageSize ?? 65_536);
  return [
    { file: "cpu.max", value: cpuMaxFor(spec.cpuPCT, node.cpus) },
    { file: "pids.max", value: pidsMaxFor(spec.pidsMax) },
    { file: "memory.oom.group", value: spec.oomPolicy === "Process" ? "0" : "1" },
    // A cap that swap could stretch would be no cap.
    { file: "memory.swap.max", value: memoryMax === "max" ? "max" : "0" },
    { file: "memory.max", value: memoryMax },
    // Lowered only while a shrinking resize is under way: throttling is not a cap.
    { file: "memory.high", value: "max" },
  ];
}

/**
 * Splits limits by what a tree with these controllers can hold. `unheld` has only real caps: where nothing is
 * capped, a missing controller misses nothing. Pure.
 */
export function splitByControllers(
  limits: readonly Limit[],
  controllers: readonly string[],
): { held: Limit[]; unheld: Limit[] } {
  const isHeld = ({ file }: Limit) => controllers.includes(file.slice(0, file.indexOf(".")));
  const isCap = ({ file, value }: Limit) => !value.startsWith("max") && file !== "memory.oom.group";
  return { held: limits.filter(isHeld), unheld: limits.filter((limit) => !isHeld(limit) && isCap(limit)) };
}
