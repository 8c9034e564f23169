import type { Schema } from "./schema-type.ts";
import { labelValue, portName, qualifiedName, qualifiedNameOrEmpty } from "./patterns.ts";

const requirement = {
  type: "object",
  description: "What a label must be.",
  required: ["key", "operator"],
  properties: {
    key: { type: "string", description: "Key of the label.", pattern: qualifiedName, maxLength: 317 },
    operator: {
      type: "string",
      description: "How the value relates to `values`.",
      enum: ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    },
    values: {
      type: "array",
      description:
        "One or more for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 256,
      items: { type: "string", maxLength: 253 },
    },
  },
} as const satisfies Schema;

const fieldRequirement = {
  type: "object",
  description: "What the name of the node must be.",
  required: ["key", "operator", "values"],
  properties: {
    key: { type: "string", description: "The field.", enum: ["metadata.name"] },
    operator: { type: "string", description: "In or NotIn.", enum: ["In", "NotIn"] },
    values: {
      type: "array",
      description: "One name of a node.",
      "x-kubernetes-list-type": "atomic",
      minItems: 1,
      maxItems: 1,
      items: { type: "string", maxLength: 253 },
    },
  },
} as const satisfies Schema;

/** Requirements on a node that must all hold. */
export const nodeSelectorTerm = {
  type: "object",
  description: "Requirements that must all hold. A term without any matches no node.",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchExpressions: {
      type: "array",
      description: "Requirements on the labels of the node.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 64,
      items: requirement,
    },
    matchFields: {
      type: "array",
      description: "Requirements on the name of the node.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 64,
      items: fieldRequirement,
    },
  },
} as const satisfies Schema;

/** Rules about where an app runs. */
export const affinity = {
  type: "object",
  description: "Rules about where the app runs.",
  properties: {
    nodeAffinity: {
      type: "object",
      description: "Rules about the node.",
      properties: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          type: "object",
          description: "The app goes only to nodes that match. Apps that run already stay.",
          "x-kubernetes-map-type": "atomic",
          required: ["nodeSelectorTerms"],
          properties: {
            nodeSelectorTerms: {
              type: "array",
              description: "Terms of which one must hold.",
              "x-kubernetes-list-type": "atomic",
              minItems: 1,
              maxItems: 64,
              items: nodeSelectorTerm,
            },
          },
        },
        preferredDuringSchedulingIgnoredDuringExecution: {
          type: "array",
          description: "Terms that a node gains points for.",
          "x-kubernetes-list-type": "atomic",
          maxItems: 64,
          items: {
            type: "object",
            required: ["weight", "preference"],
            properties: {
              weight: {
                type: "integer",
                format: "int32",
                description: "Points, 1 to 100.",
                minimum: 1,
                maximum: 100,
              },
              preference: nodeSelectorTerm,
            },
          },
        },
      },
    },
  },
} as const satisfies Schema;

/** A taint that the app bears. */
export const toleration = {
  type: "object",
  description: "A taint that the app bears.",
  properties: {
    key: {
      type: "string",
      description: "Key of the taint; empty with Exists for every taint.",
      pattern: qualifiedNameOrEmpty,
      maxLength: 317,
    },
    operator: {
      type: "string",
      description: "Equal: key and value are those of the taint. Exists: any value.",
      enum: ["Equal", "Exists"],
      default: "Equal",
    },
    value: {
      type: "string",
      description: "Value of the taint, for Equal.",
      pattern: labelValue,
      maxLength: 63,
    },
    effect: {
      type: "string",
      description: "Effect of the taint; empty for every effect.",
      enum: ["", "NoSchedule", "PreferNoSchedule", "NoExecute"],
    },
    tolerationSeconds: {
      type: "integer",
      format: "int64",
      description:
        "How long a NoExecute taint, or a lost node, is borne. Absent: for ever. 0 or less: not at all.",
    },
  },
} as const satisfies Schema;

/** A port of the host that the app listens on. */
export const port = {
  type: "object",
  description: "A port of the host that the app listens on.",
  required: ["port"],
  properties: {
    name: { type: "string", description: "Name that probes may use.", pattern: portName, maxLength: 15 },
    port: { type: "integer", format: "int32", description: "Port of the host.", minimum: 1, maximum: 65_535 },
    protocol: {
      type: "string",
      description: "TCP, UDP or SCTP.",
      enum: ["TCP", "UDP", "SCTP"],
      default: "TCP",
    },
  },
} as const satisfies Schema;
