/** The RBAC rules of the controllers: their roles grant them, and an agent checks them before it runs controllers. */
import { clientSigner, group, plural, servingSigner, setPlural } from "./names.ts";

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** A rule about paths of a component's own endpoint. */
export interface PathRule {
  nonResourceURLs: string[];
  verbs: string[];
}

const read = ["get", "list", "watch"];

/** By the name of the controller, in all namespaces. */
export const controllerRules = {
  scheduler: [
    { apiGroups: [group], resources: [plural], verbs: [...read, "patch"] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: read },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: read },
    { apiGroups: [""], resources: ["resourcequotas", "limitranges"], verbs: read },
    { apiGroups: [""], resources: ["resourcequotas/status"], verbs: ["patch"] },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: read },
  ],
  sets: [
    // It deletes jobs that have ended, if they say when.
    { apiGroups: [group], resources: [setPlural], verbs: [...read, "delete"] },
    { apiGroups: [group], resources: [`${setPlural}/status`], verbs: ["patch"] },
    // Some clusters require it of those who make an object the owner of others.
    { apiGroups: [group], resources: [`${setPlural}/finalizers`], verbs: ["update"] },
    { apiGroups: [group], resources: [plural], verbs: [...read, "create", "patch", "delete"] },
    {
      apiGroups: ["apps"],
      resources: ["controllerrevisions"],
      verbs: [...read, "create", "patch", "delete"],
    },
    { apiGroups: [""], resources: ["nodes"], verbs: read },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: read },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  ],
  identities: [
    { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: read },
    { apiGroups: [""], resources: ["nodes"], verbs: read },
    { apiGroups: [group], resources: [plural], verbs: read },
    { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles", "rolebindings"], verbs: read },
  ],
} satisfies Record<string, readonly Rule[]>;

/**
 * What approves certificates: with it one can become any user but a member of system:masters, unless an admission policy says which
 * requests. So it is bound together with that policy only.
 */
export const approverRules: readonly Rule[] = [
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["signers"],
    resourceNames: [clientSigner, servingSigner],
    verbs: ["approve"],
  },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests/approval"],
    verbs: ["patch"],
  },
  { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["delete"] },
];

/**
 * What lets agents read the Secrets of their apps: with it one can give any right to anyone, unless an admission policy says which. So it
 * is bound together with that policy only.
 */
export const granterRules: readonly Rule[] = [
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["roles"],
    // The last two: what it grants, it does not have itself.
    verbs: ["create", "patch", "delete", "escalate", "bind"],
  },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["rolebindings"],
    verbs: ["create", "patch", "delete"],
  },
];

/** In the namespace of the agents: whose key has which name. */
export const claimRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["configmaps"], verbs: [...read, "create", "patch"] },
];

/** In the namespace default: the addresses of the API server, for which no node gets a certificate. */
export const serverAddressRules: readonly Rule[] = [
  { apiGroups: [""], resources: ["services", "endpoints"], resourceNames: ["kubernetes"], verbs: ["get"] },
];

/** In the namespace of the agents' Leases. */
export const nodeLeaseRules: readonly Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: read },
];

/** There too: whether an agent has the name that a node asks for. */
export const lookedUpLeaseRules: readonly Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"] },
];
