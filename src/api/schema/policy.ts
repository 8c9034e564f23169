/**
 * The schema of NCAppPolicy: what the apps of its namespace may be. `install/tenancy-policy.ts` enforces it in the API server. Only
 * administrators may write one: a ConfigMap would be a tenant's own.
 */
import { account, percent } from "./patterns.ts";
import type { Schema } from "./schema-type.ts";

const names = (description: string) =>
  ({
    type: "array",
    description,
    "x-kubernetes-list-type": "set",
    maxItems: 64,
    items: { type: "string", pattern: account, minLength: 1, maxLength: 64 },
  }) as const satisfies Schema;

const share = (description: string) =>
  ({ type: "string", description, pattern: percent, minLength: 1, maxLength: 32 }) as const satisfies Schema;

const policySpec = {
  type: "object",
  description: "What the apps of this namespace may be. An absent field restricts nothing.",
  properties: {
    users: names(
      "Users that apps may run as: runAsUser must be set, and be one of these, as it is written here. Name a user's number too if " +
        "apps may use it.",
    ),
    groups: names(
      "Groups that runAsGroup may name, as they are written here. With users and without groups, runAsGroup must not be set.",
    ),
    scripts: {
      type: "array",
      description:
        "Paths and URLs that shellFile, stopFile and the commands of probes may be. One that ends with a slash is a " +
        "prefix; others must be equal.",
      "x-kubernetes-list-type": "set",
      maxItems: 64,
      items: {
        type: "string",
        pattern: "^(/|https?://[^\\x00-\\x20\\x7f/?#@]+/)[^\\x00-\\x20\\x7f]*$",
        maxLength: 1_024,
      },
    },
    maxCPUPCT: share("The largest cpuPCT of an app, which must then have one."),
    maxMemPCT: share("The largest memPCT of an app, which must then have one."),
    requireCaps: { type: "boolean", description: "True: every app has cpuPCT and memPCT." },
    denyNodeName: {
      type: "boolean",
      description: "True: only the scheduler chooses a node; nodeName may be cleared.",
    },
    denyExec: { type: "boolean", description: "True: allowExec must not be true." },
  },
} as const satisfies Schema;

export const ncappPolicy = {
  type: "object",
  description:
    "NCAppPolicy restricts the NCApps and NCAppSets of its namespace. If there are several, each must allow an app.",
  required: ["spec"],
  properties: { spec: policySpec },
} as const satisfies Schema;
