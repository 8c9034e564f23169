import type { Schema } from "./schema-type.ts";
import { dataKey, identifier, subdomain, withoutNUL } from "./patterns.ts";

const keyOf = (holder: string) =>
  ({
    type: "object",
    description: `A key of a ${holder} in the namespace of the app.`,
    required: ["name", "key"],
    properties: {
      name: { type: "string", description: `Name of the ${holder}.`, pattern: subdomain, maxLength: 253 },
      key: { type: "string", description: `The key to take.`, pattern: dataKey, maxLength: 253 },
      optional: {
        type: "boolean",
        description:
          `True: the variable is left out where the ${holder} or the key is missing. False: the app waits.`,
      },
    },
  }) as const satisfies Schema;

/** Where the value of a variable comes from. */
export const envVarSource = {
  type: "object",
  description: "Where the value comes from, in place of `value`. Exactly one source.",
  properties: {
    secretKeyRef: keyOf("Secret"),
    configMapKeyRef: keyOf("ConfigMap"),
    fieldRef: {
      type: "object",
      description: "A field of the app itself.",
      required: ["fieldPath"],
      properties: {
        fieldPath: {
          type: "string",
          description: "metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'], " +
            "metadata.annotations['KEY'], spec.nodeName, spec.cpuPCT or spec.memPCT.",
          pattern:
            "^(metadata\\.(name|namespace|uid|(labels|annotations)\\['[^'\\x00]+'\\])|spec\\.(nodeName|cpuPCT|memPCT))$",
          maxLength: 330,
        },
      },
    },
  },
} as const satisfies Schema;

/** One variable of the environment. */
export const envVar = {
  type: "object",
  description: "One variable: a name with a value, or with the place of its value.",
  required: ["name"],
  properties: {
    name: {
      type: "string",
      description: "A C identifier; sh drops variables of other names.",
      pattern: identifier,
      maxLength: 256,
    },
    value: {
      type: "string",
      description: "The value, taken as it is: $(NAME) is not expanded.",
      pattern: withoutNUL,
      maxLength: 131_072,
    },
    valueFrom: envVarSource,
  },
} as const satisfies Schema;
