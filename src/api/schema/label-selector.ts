/** Labels, and the selector of objects by their labels. */
import { labelValue, maxLabelKeyLength, qualifiedName } from "./patterns.ts";
import type { Schema } from "./schema-type.ts";

export const labels = (description: string) =>
  ({
    type: "object",
    description,
    maxProperties: 64,
    additionalProperties: { type: "string", pattern: labelValue, maxLength: 63 },
  }) as const satisfies Schema;

export const labelSelector = (description: string) =>
  ({
    type: "object",
    description,
    "x-kubernetes-map-type": "atomic",
    properties: {
      matchLabels: labels("Labels that an app must have, with these values."),
      matchExpressions: {
        type: "array",
        description: "Requirements on the labels of an app, all of which must hold.",
        "x-kubernetes-list-type": "atomic",
        maxItems: 16,
        items: {
          type: "object",
          required: ["key", "operator"],
          properties: {
            key: {
              type: "string",
              description: "Label key.",
              pattern: qualifiedName,
              maxLength: maxLabelKeyLength,
            },
            operator: {
              type: "string",
              description: "How the label relates to `values`.",
              enum: ["In", "NotIn", "Exists", "DoesNotExist"],
            },
            values: {
              type: "array",
              description: "Values to compare with: one or more for In and NotIn, none for the others.",
              "x-kubernetes-list-type": "atomic",
              maxItems: 64,
              items: { type: "string", pattern: labelValue, maxLength: 63 },
            },
          },
        },
      },
    },
  }) as const satisfies Schema;
