/**
 * The one source of truth about NCApp: the OpenAPI v3 structural schema. The TypeScript types (`types.ts`), the
 * CRD (`crd.ts`), the validator (`validate.ts`) and the defaults (`defaults.ts`) all follow from it.
 */
import { apiVersion, kind } from "../names.ts";
import type { Schema } from "./schema-type.ts";
import { label, subdomain } from "./patterns.ts";
import { spec } from "./spec.ts";
import { status } from "./status.ts";

export type { envVar, envVarSource } from "./env.ts";
export { explainMismatch, percent, qualifiedName } from "./patterns.ts";
export type { execAction, httpGetAction, probe, tcpSocketAction } from "./probe.ts";
export type { affinity, nodeSelectorTerm, port, toleration } from "./scheduling.ts";
export type { FromSchema, Schema } from "./schema-type.ts";
export { spec } from "./spec.ts";
export type { condition, lastExit, status } from "./status.ts";

/**
 * The metadata that NC-Kubelet reads. The API server has its own, fuller idea, so a CRD says only `type: object`
 * here, and fields beyond these pass.
 */
export const metadata = {
  type: "object",
  required: ["name"],
  "x-kubernetes-preserve-unknown-fields": true,
  properties: {
    name: { type: "string", pattern: subdomain, maxLength: 253 },
    namespace: { type: "string", pattern: label, maxLength: 63 },
    uid: { type: "string" },
    resourceVersion: { type: "string" },
    generation: { type: "integer" },
    creationTimestamp: { type: "string" },
    deletionTimestamp: { type: "string" },
    deletionGracePeriodSeconds: { type: "integer" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
  },
} as const satisfies Schema;

/** The schema of a whole NCApp. */
export const ncapp = {
  type: "object",
  description:
    "NCApp is an application that is not containerized: a script to run, and the share of the node that it may use.",
  required: ["apiVersion", "kind", "metadata", "spec"],
  properties: {
    apiVersion: { type: "string", enum: [apiVersion] },
    kind: { type: "string", enum: [kind] },
    metadata,
    spec,
    status,
  },
} as const satisfies Schema;
