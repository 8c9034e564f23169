/**
 * Rules between fields, which a schema cannot express. Each has two forms: CEL for API servers that support it (1.25 and
 * later), and TypeScript for manifests and for older servers.
 *
 * Both forms see the spec with its defaults filled in.
 */
import { placementRules } from "./placement.ts";
import { probeRules } from "./probe.ts";
import { programRules } from "./program.ts";
import type { Rule } from "./rule.ts";

export { cronProblem } from "./cron.ts";
export type { Rule } from "./rule.ts";
export { placementFields, setRules } from "./set.ts";

/** Every rule, in the order of the reports. */
export const rules: readonly Rule[] = [...programRules, ...probeRules, ...placementRules];
