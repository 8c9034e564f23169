import { label, subdomain } from "./patterns.ts";
import type { Schema } from "./schema-type.ts";

/**
 * The metadata fields that NC-Kubelet reads; other fields pass. The API server has its own schema of metadata, so the
 * CRD says only `type: object` here.
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
    finalizers: { type: "array", items: { type: "string" } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
  },
} as const satisfies Schema;
