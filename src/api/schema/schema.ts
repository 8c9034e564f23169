/**
 * The single source of truth about NCApp: its OpenAPI v3 structural schema. Everything else follows from it: the
 * TypeScript types (`api/types.ts`), the CRD (`api/install`), the validator and the defaults (`api/validate`).
 *
 * A field belongs to one of four files by what its change means: `program.ts` (restarts the app), `limits.ts` and
 * `lifecycle.ts` (apply without a restart), `placement.ts` (where the app runs). Fields of the status are in `status.ts`; `supervisor/status.ts` sets
 * them. `kubectl explain` prints the descriptions.
 */
import { apiVersions, kind } from "../names.ts";
import type { Schema } from "./schema-type.ts";
import { lifecycle } from "./lifecycle.ts";
import { limits } from "./limits.ts";
import { metadata } from "./metadata.ts";
import { placement } from "./placement.ts";
import { program } from "./program.ts";
import { status } from "./status.ts";

export type { envVar } from "./env.ts";
export { envVarSource } from "./env.ts";
export { lifecycle } from "./lifecycle.ts";
export { limits } from "./limits.ts";
export { metadata } from "./metadata.ts";
export {
  dataKey,
  explainMismatch,
  label,
  labelValue,
  maxLabelKeyLength,
  percent,
  qualifiedName,
  subdomain,
} from "./patterns.ts";
export { placement } from "./placement.ts";
export { ncappPolicy } from "./policy.ts";
export { type probe, probeActions } from "./probe.ts";
export { program } from "./program.ts";
export {
  affinity,
  type appAffinityTerm,
  nodeSelectorTerm,
  type port,
  type toleration,
  type topologySpreadConstraint,
} from "./scheduling.ts";
export type { FromSchema, Schema } from "./schema-type.ts";
export { maxReplicas, ncappset, setSpec, template, templateSpec } from "./set.ts";
export type { setStatus } from "./set-status.ts";
export type { condition, lastExit, status } from "./status.ts";

/** Fields whose change restarts an app. */
export const programFields = Object.keys(program) as (keyof typeof program)[];

export const spec = {
  type: "object",
  description: "What to run, and how much of the node it may use.",
  properties: { ...program, ...limits, ...lifecycle, ...placement },
} as const satisfies Schema;

/** The fields of a version of an app, which an earlier one replaces on a rollback; see supervisor/decide/versions.ts. */
export const versionFields = Object.keys({ ...program, ...lifecycle }).filter((name) =>
  !["suspend", "allowExec", "update"].includes(name)
) as (keyof typeof program | keyof typeof lifecycle)[];

export const ncapp = {
  type: "object",
  description:
    "NCApp is a non-containerized application: a script to run, and the share of the node that it may use.",
  required: ["apiVersion", "kind", "metadata", "spec"],
  properties: {
    apiVersion: { type: "string", enum: apiVersions },
    kind: { type: "string", enum: [kind] },
    metadata,
    spec,
    status,
  },
} as const satisfies Schema;
