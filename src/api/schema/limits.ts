import type { Schema } from "./schema-type.ts";
import { percent } from "./patterns.ts";

/** A share of the node. The API server has no type "decimal or string", so fractions are strings. */
const share = (description: string) =>
  ({
    description,
    "x-kubernetes-int-or-string": true,
    minimum: 0,
    exclusiveMinimum: true,
    maximum: 100,
    pattern: percent,
    maxLength: 32,
  }) as const satisfies Schema;

/** How much of the node the app may use. Changes apply without a restart. */
export const limits = {
  cpuPCT: share(
    'Hard cap on CPU time, in percent of all CPUs of the node: "20", "12.5" or 20, with or without a percent sign. ' +
      "More than 0, at most 100. Empty or absent: no cap.",
  ),
  memPCT: share(
    'Hard cap on memory, in percent of the physical memory of the node: "20", "12.5" or 20, with or without a percent sign. ' +
      "More than 0, at most 100. Empty or absent: no cap. Swap counts toward the cap.",
  ),
  pidsMax: {
    type: "integer",
    format: "int32",
    description:
      "Maximum number of processes and threads. At least 2: the app starts with a shell and what the shell runs.",
    minimum: 2,
    // The kernel's own highest pid_max.
    maximum: 4_194_304,
    default: 4_096,
  },
  oomPolicy: {
    type: "string",
    description:
      "What the kernel kills when the app is out of memory. Group: all processes of the app. Process: one process.",
    enum: ["Group", "Process"],
    default: "Group",
  },
} as const satisfies { [field: string]: Schema };
