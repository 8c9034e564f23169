import type { Schema } from "./schema-type.ts";
import { labelSelector } from "./label-selector.ts";
import { labelValue, maxLabelKeyLength, portName, qualifiedName, qualifiedNameOrEmpty } from "./patterns.ts";

const requirement = {
  type: "object",
  description: "Requirement on a node label.",
  required: ["key", "operator"],
  properties: {
    key: { type: "string", description: "Label key.", pattern: qualifiedName, maxLength: maxLabelKeyLength },
    operator: {
      type: "string",
      description: "How the label relates to `values`.",
      enum: ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    },
    values: {
      type: "array",
      description:
        "Values to compare with: one or more for In and NotIn, none for Exists and DoesNotExist, one integer for Gt and Lt.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 256,
      items: { type: "string", maxLength: 253 },
    },
  },
} as const satisfies Schema;

const fieldRequirement = {
  type: "object",
  description: "Requirement on the node name.",
  required: ["key", "operator", "values"],
  properties: {
    key: { type: "string", description: "Field of the Node. Only metadata.name.", enum: ["metadata.name"] },
    operator: {
      type: "string",
      description: "How the field relates to `values`: In or NotIn.",
      enum: ["In", "NotIn"],
    },
    values: {
      type: "array",
      description: "One node name.",
      "x-kubernetes-list-type": "atomic",
      minItems: 1,
      maxItems: 1,
      items: { type: "string", maxLength: 253 },
    },
  },
} as const satisfies Schema;

/** Requirements that a node must meet, all of them. */
export const nodeSelectorTerm = {
  type: "object",
  description: "Requirements that the node must meet, all of them. An empty term matches no node.",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchExpressions: {
      type: "array",
      description: "Requirements on node labels.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 16,
      items: requirement,
    },
    matchFields: {
      type: "array",
      description: "Requirements on the node name.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 16,
      items: fieldRequirement,
    },
  },
} as const satisfies Schema;

const topologyKey = {
  type: "string",
  description:
    "Label of Nodes whose values are the domains, such as kubernetes.io/hostname or topology.kubernetes.io/zone.",
  pattern: qualifiedName,
  maxLength: maxLabelKeyLength,
} as const satisfies Schema;

/** How apps are spread over the domains of a topology. */
export const topologySpreadConstraint = {
  type: "object",
  description: "How the apps that the selector matches are spread over the domains of a topology.",
  required: ["maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"],
  properties: {
    maxSkew: {
      type: "integer",
      format: "int32",
      description: "How many more apps a domain may have than the one with the fewest.",
      minimum: 1,
      maximum: 10_000,
    },
    topologyKey,
    whenUnsatisfiable: {
      type: "string",
      description:
        "DoNotSchedule: the app waits rather than exceed maxSkew. ScheduleAnyway: domains with fewer apps are preferred.",
      enum: ["DoNotSchedule", "ScheduleAnyway"],
    },
    labelSelector: labelSelector("Apps of the namespace that are counted. Empty: all."),
  },
} as const satisfies Schema;

export const appAffinityTerm = {
  type: "object",
  description: "Apps of the namespace, and the topology that they are looked for in.",
  "x-kubernetes-map-type": "atomic",
  required: ["topologyKey", "labelSelector"],
  properties: { topologyKey, labelSelector: labelSelector("Labels of the apps. Empty: all.") },
} as const satisfies Schema;

export const affinity = {
  type: "object",
  description: "Rules about where the app runs.",
  properties: {
    nodeAffinity: {
      type: "object",
      description: "Rules about the node, by its labels and name.",
      properties: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          type: "object",
          description: "Nodes that the scheduler may choose. Apps that already run stay where they are.",
          "x-kubernetes-map-type": "atomic",
          required: ["nodeSelectorTerms"],
          properties: {
            nodeSelectorTerms: {
              type: "array",
              description: "Terms. The node must match at least one.",
              "x-kubernetes-list-type": "atomic",
              minItems: 1,
              maxItems: 16,
              items: nodeSelectorTerm,
            },
          },
        },
        preferredDuringSchedulingIgnoredDuringExecution: {
          type: "array",
          description: "Terms that raise the score of matching nodes.",
          "x-kubernetes-list-type": "atomic",
          maxItems: 16,
          items: {
            type: "object",
            required: ["weight", "preference"],
            properties: {
              weight: {
                type: "integer",
                format: "int32",
                description: "Weight of the term, 1 to 100.",
                minimum: 1,
                maximum: 100,
              },
              preference: nodeSelectorTerm,
            },
          },
        },
      },
    },
    appAntiAffinity: {
      type: "object",
      description:
        "Apps of the namespace that the app does not share a domain with, as podAntiAffinity of a Pod.",
      properties: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          type: "array",
          description:
            "The scheduler chooses no domain that has such an app, and no such app a domain that has this one.",
          "x-kubernetes-list-type": "atomic",
          maxItems: 16,
          items: appAffinityTerm,
        },
        preferredDuringSchedulingIgnoredDuringExecution: {
          type: "array",
          description: "Terms that lower the score of domains with such apps.",
          "x-kubernetes-list-type": "atomic",
          maxItems: 16,
          items: {
            type: "object",
            required: ["weight", "appAffinityTerm"],
            properties: {
              weight: {
                type: "integer",
                format: "int32",
                description: "Weight of the term, 1 to 100.",
                minimum: 1,
                maximum: 100,
              },
              appAffinityTerm,
            },
          },
        },
      },
    },
  },
} as const satisfies Schema;

export const toleration = {
  type: "object",
  description: "Taint that the app tolerates.",
  properties: {
    key: {
      type: "string",
      description: "Key of the taint. Empty, with operator Exists: every taint.",
      pattern: qualifiedNameOrEmpty,
      maxLength: maxLabelKeyLength,
    },
    operator: {
      type: "string",
      description: "Equal: key and value match the taint. Exists: the key matches, any value.",
      enum: ["Equal", "Exists"],
      default: "Equal",
    },
    value: {
      type: "string",
      description: "Value of the taint, for operator Equal.",
      pattern: labelValue,
      maxLength: 63,
    },
    effect: {
      type: "string",
      description: "Effect of the taint. Empty: every effect.",
      enum: ["", "NoSchedule", "PreferNoSchedule", "NoExecute"],
    },
    tolerationSeconds: {
      type: "integer",
      format: "int64",
      description:
        "How long the app tolerates a NoExecute taint or a lost node. Absent: forever. 0 or less: not at all.",
    },
  },
} as const satisfies Schema;

/** A host port that the app listens on. */
export const port = {
  type: "object",
  description: "Host port that the app listens on.",
  required: ["port"],
  properties: {
    name: {
      type: "string",
      description: "Name by which probes refer to the port.",
      pattern: portName,
      maxLength: 15,
    },
    port: { type: "integer", format: "int32", description: "Port number.", minimum: 1, maximum: 65_535 },
    protocol: {
      type: "string",
      description: "Protocol: TCP, UDP or SCTP.",
      enum: ["TCP", "UDP", "SCTP"],
      default: "TCP",
    },
  },
} as const satisfies Schema;
