import type { Schema } from "./schema-type.ts";
import { lifecycle } from "./lifecycle.ts";
import { limits } from "./limits.ts";
import { placement } from "./placement.ts";
import { program } from "./program.ts";

/** The schema of `spec`. */
export const spec = {
  type: "object",
  description: "What to run, and which share of the node it may use.",
  properties: { ...program, ...limits, ...lifecycle, ...placement },
} as const satisfies Schema;
