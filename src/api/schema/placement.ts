import { defaultSchedulerName } from "../names.ts";
import type { Schema } from "./schema-type.ts";
import { labelValue, subdomainOrEmpty } from "./patterns.ts";
import { affinity, port, toleration } from "./scheduling.ts";

/** Where it runs. */
export const placement = {
  nodeName: {
    type: "string",
    description: "The node that the app is bound to. Set by the scheduler, or by hand.",
    pattern: subdomainOrEmpty,
    maxLength: 253,
  },
  schedulerName: {
    type: "string",
    description:
      "The scheduler that binds the app. Another name than the default is left for another scheduler.",
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
  tolerations: {
    type: "array",
    description: "Taints that the app bears.",
    "x-kubernetes-list-type": "atomic",
    maxItems: 256,
    items: toleration,
  },
  priorityClassName: {
    type: "string",
    description: "PriorityClass of the app. Empty: the cluster's default class, else priority 0.",
    pattern: subdomainOrEmpty,
    maxLength: 253,
  },
  ports: {
    type: "array",
    description: "Ports of the host that the app listens on. No port is given twice on a node.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    maxItems: 64,
    items: port,
  },
} as const satisfies { [field: string]: Schema };
