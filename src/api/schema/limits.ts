import type { Schema } from "./schema-type.ts";
import { percent } from "./patterns.ts";

/** A share of the node. The API server has no type "decimal or string", so a fraction is written as a string. */
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

/** How much of the node it may use: applied live. */
export const limits = {
  cpuPCT: share(
    'Hard cap on CPU time, in percent of all CPUs of the node: "20", "12.5" or 20, with or without a percent sign. ' +
      'Over 0 to 100; "" or absent: no cap.',
  ),
  memPCT: share(
    'Hard cap on memory, in percent of the physical memory of the node: "20", "12.5" or 20, with or without a percent sign. ' +
      'Over 0 to 100; "" or absent: no cap. Swap is not extra.',
  ),
  pidsMax: {
    type: "integer",
    format: "int32",
    description:
      "Cap on the number of processes and threads, at least 2: an app starts with a shell and what that runs.",
    minimum: 2,
    // The kernel's own highest pid_max.
    maximum: 4_194_304,
    default: 4_096,
  },
  oomPolicy: {
    type: "string",
    description:
      "What dies when the app is out of memory. Group: all of its processes together. Process: one of them.",
    enum: ["Group", "Process"],
    default: "Group",
  },
} as const satisfies { [field: string]: Schema };
