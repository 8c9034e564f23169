/**
 * The rules between fields, which a schema cannot say. Each stands once, in both of its forms: as CEL for API servers
 * that have it (1.25 and later), and as TypeScript for manifests and for what older servers let through.
 *
 * Rules see the spec with its defaults filled in, here as in the server.
 */
import { placementRules } from "./placement.ts";
import { probeRules } from "./probe.ts";
import { programRules } from "./program.ts";
import type { Rule } from "./rule.ts";

export type { Rule } from "./rule.ts";

/** Every rule, in the order in which its trouble is reported. */
export const rules: readonly Rule[] = [...programRules, ...probeRules, ...placementRules];
