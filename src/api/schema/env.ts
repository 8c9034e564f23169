import type { Schema } from "./schema-type.ts";
import { dataKey, fieldPath, identifier, subdomain, withoutNUL } from "./patterns.ts";

const keyOf = (holder: string) =>
  ({
    type: "object",
    description: `A key of a ${holder} in the namespace of the app.`,
    required: ["name", "key"],
    properties: {
      name: { type: "string", description: `Name of the ${holder}.`, pattern: subdomain, maxLength: 253 },
      key: { type: "string", description: "Key whose value is used.", pattern: dataKey, maxLength: 253 },
      optional: {
        type: "boolean",
        description:
          `If true, a missing ${holder} or key leaves the variable out. If false, the app waits for it.`,
      },
    },
  }) as const satisfies Schema;

export const envVarSource = {
  type: "object",
  description: "Source of the value, instead of `value`. Set exactly one.",
  properties: {
    secretKeyRef: keyOf("Secret"),
    configMapKeyRef: keyOf("ConfigMap"),
    fieldRef: {
      type: "object",
      description: "A field of the app.",
      required: ["fieldPath"],
      properties: {
        fieldPath: {
          type: "string",
          description: "metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'], " +
            "metadata.annotations['KEY'], spec.nodeName, spec.cpuPCT or spec.memPCT.",
          pattern: fieldPath,
          maxLength: 330,
        },
      },
    },
  },
} as const satisfies Schema;

export const envVar = {
  type: "object",
  description: "One variable: a name, and a value or the source of its value.",
  required: ["name"],
  properties: {
    name: {
      type: "string",
      description: "Name of the variable, a C identifier; sh drops variables with other names.",
      pattern: identifier,
      maxLength: 256,
    },
    value: {
      type: "string",
      description: "Value, passed unchanged: $(NAME) is not expanded.",
      pattern: withoutNUL,
      maxLength: 131_072,
    },
    valueFrom: envVarSource,
  },
} as const satisfies Schema;
