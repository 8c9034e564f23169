import { cpuMaxFor } from "./cpu.ts";
import { memoryMaxFor } from "./memory.ts";
import { pidsMaxFor } from "./pids.ts";

/** The caps of an app. Percentages are of the whole node; no cap if absent. */
export interface LimitSpec {
  cpuPCT?: number | undefined;
  memPCT?: number | undefined;
  pidsMax?: number | undefined;
  /** What an OOM kill ends. `Group` (default): the whole app. `Process`: only one process. */
  oomPolicy?: "Group" | "Process" | undefined;
}

export interface NodeSize {
  cpus: number;
  memoryBytes: number;
}

export interface Limit {
  file: string;
  value: string;
}

/** Returns the files and values that enforce the caps; throws a CgroupError (`ERANGE`) if the kernel cannot express one. Pure. */
export function limitsFor(spec: LimitSpec, node: NodeSize): Limit[] {
  const memoryMax = memoryMaxFor(spec.memPCT, node.memoryBytes);
  return [
    { file: "cpu.max", value: cpuMaxFor(spec.cpuPCT, node.cpus) },
    { file: "pids.max", value: pidsMaxFor(spec.pidsMax) },
    { file: "memory.oom.group", value: spec.oomPolicy === "Process" ? "0" : "1" },
    // Swap would extend the cap.
    { file: "memory.swap.max", value: memoryMax === "max" ? "max" : "0" },
    { file: "memory.max", value: memoryMax },
    // Lowered only during a shrinking resize: throttling is not a cap.
    { file: "memory.high", value: "max" },
  ];
}

/** Splits limits by whether the controllers can enforce them. `unenforced` has only real caps: `max` needs no controller. Pure. */
export function splitByControllers(
  limits: readonly Limit[],
  controllers: readonly string[],
): { enforced: Limit[]; unenforced: Limit[] } {
  const isEnforced = ({ file }: Limit) => controllers.includes(file.slice(0, file.indexOf(".")));
  const isCap = ({ file, value }: Limit) => !value.startsWith("max") && file !== "memory.oom.group";
  return {
    enforced: limits.filter(isEnforced),
    unenforced: limits.filter((limit) => !isEnforced(limit) && isCap(limit)),
  };
}
