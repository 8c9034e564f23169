import { defaultSchedulerName } from "../names.ts";
import type { Schema } from "./schema-type.ts";
import { labelValue, subdomainOrEmpty } from "./patterns.ts";
import { affinity, port, toleration, topologySpreadConstraint } from "./scheduling.ts";

export const placement = {
  nodeName: {
    type: "string",
    description: "Node that runs the app. The scheduler sets it unless you do.",
    pattern: subdomainOrEmpty,
    maxLength: 253,
  },
  schedulerName: {
    type: "string",
    description: "Scheduler that binds the app. nc-scheduler ignores apps that name another scheduler.",
    pattern: subdomainOrEmpty,
    maxLength: 253,
    default: defaultSchedulerName,
  },
  nodeSelector: {
    type: "object",
    description: "Labels that the node must have.",
    "x-kubernetes-map-type": "atomic",
    maxProperties: 256,
    additionalProperties: { type: "string", pattern: labelValue, maxLength: 63 },
  },
  affinity,
  topologySpreadConstraints: {
    type: "array",
    description:
      "How the app is spread with others. Apps of a set, or with the same app.kubernetes.io/name, are always spread over nodes, then over zones, as far as possible.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["topologyKey", "whenUnsatisfiable"],
    maxItems: 8,
    items: topologySpreadConstraint,
  },
  tolerations: {
    type: "array",
    description: "Taints that the app tolerates.",
    "x-kubernetes-list-type": "atomic",
    maxItems: 256,
    items: toleration,
  },
  priorityClassName: {
    type: "string",
    description:
      "PriorityClass of the app. Empty: the default class of the cluster, or priority 0 if there is none. A standalone agent " +
      "knows only system-cluster-critical and system-node-critical; all other apps have priority 0 there.",
    pattern: subdomainOrEmpty,
    maxLength: 253,
  },
  ports: {
    type: "array",
    description:
      "Host ports that the app listens on. The scheduler assigns each port of a node to one app only.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    maxItems: 64,
    items: port,
  },
} as const satisfies { [field: string]: Schema };
