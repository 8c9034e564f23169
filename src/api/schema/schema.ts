/**
 * The single source of truth about NCApp: its OpenAPI v3 structural schema. Everything else follows from it: the
 * TypeScript types (`api/types.ts`), the CRD (`api/install`), the validator and the defaults (`api/validate`).
 *
 * A field belongs to one of four files by what its change means: `program.ts` (restarts the app), `limits.ts` and
 * `lifecycle.ts` (apply without a restart), `placement.ts` (where the app runs). Fields of the status are in `status.ts`; `supervisor/status.ts` sets
 * them. `kubectl explain` prints the descriptions.
 */
import { apiVersion, kind } from "../names.ts";
import type { Schema } from "./schema-type.ts";
import { lifecycle } from "./lifecycle.ts";
import { limits } from "./limits.ts";
import { metadata } from "./metadata.ts";
import { placement } from "./placement.ts";
import { program } from "./program.ts";
import { status } from "./status.ts";

export type { envVar } from "./env.ts";
export { envVarSource } from "./env.ts";
export { metadata } from "./metadata.ts";
export { explainMismatch, labelValue, maxLabelKeyLength, percent, qualifiedName } from "./patterns.ts";
export type { probe, probeActions } from "./probe.ts";
export type { affinity, nodeSelectorTerm, port, toleration } from "./scheduling.ts";
export type { FromSchema, Schema } from "./schema-type.ts";
export { ncappset, setSpec, template, templateSpec } from "./set.ts";
export type { setStatus } from "./set-status.ts";
export type { condition, lastExit, status } from "./status.ts";

export const spec = {
  type: "object",
  description: "What to run, and how much of the node it may use.",
  properties: { ...program, ...limits, ...lifecycle, ...placement },
} as const satisfies Schema;

export const ncapp = {
  type: "object",
  description:
    "NCApp is a non-containerized application: a script to run, and the share of the node that it may use.",
  required: ["apiVersion", "kind", "metadata", "spec"],
  properties: {
    apiVersion: { type: "string", enum: [apiVersion] },
    kind: { type: "string", enum: [kind] },
    metadata,
    spec,
    status,
  },
} as const satisfies Schema;
