/**
 * The RBAC rules of the controllers: their roles grant them, and an agent checks them before it runs controllers. Each says what it is
 * for; docs/rights.md is made of that.
 */
import { clientSigner, group, plural, servingSigner, setPlural } from "./names.ts";

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
  /** Not installed. */
  why: string;
}

/** A rule about paths of a component's own endpoint. */
export interface PathRule {
  nonResourceURLs: string[];
  verbs: string[];
  why: string;
}

const read = ["get", "list", "watch"];
const rbac = "rbac.authorization.k8s.io";

/** By the name of the controller, in all namespaces. */
export const controllerRules = {
  scheduler: [
    { apiGroups: [group], resources: [plural], verbs: [...read, "patch"], why: "binds apps to nodes" },
    {
      apiGroups: [group],
      resources: [`${plural}/status`],
      verbs: ["patch"],
      why: "says why an app has no node",
    },
    { apiGroups: [""], resources: ["nodes"], verbs: read, why: "where apps may run" },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"], why: "binds, evictions, quotas" },
    {
      apiGroups: ["scheduling.k8s.io"],
      resources: ["priorityclasses"],
      verbs: read,
      why: "which apps go first",
    },
    {
      apiGroups: [""],
      resources: ["resourcequotas", "limitranges"],
      verbs: read,
      why: "what a namespace may use",
    },
    { apiGroups: [""], resources: ["resourcequotas/status"], verbs: ["patch"], why: "what a namespace uses" },
    {
      apiGroups: ["policy"],
      resources: ["poddisruptionbudgets"],
      verbs: read,
      why: "how many apps a drain may move",
    },
  ],
  sets: [
    {
      apiGroups: [group],
      resources: [setPlural],
      verbs: [...read, "delete"],
      why: "deletes jobs that say when",
    },
    {
      apiGroups: [group],
      resources: [`${setPlural}/status`],
      verbs: ["patch"],
      why: "the state of rollouts",
    },
    {
      apiGroups: [group],
      resources: [`${setPlural}/finalizers`],
      verbs: ["update"],
      why: "some clusters require it of who makes an object the owner of others",
    },
    {
      apiGroups: [group],
      resources: [plural],
      verbs: [...read, "create", "patch", "delete"],
      why: "the apps of sets",
    },
    {
      apiGroups: ["apps"],
      resources: ["controllerrevisions"],
      verbs: [...read, "create", "patch", "delete"],
      why: "the templates that a set had",
    },
    { apiGroups: [""], resources: ["nodes"], verbs: read, why: "which nodes a set is for" },
    {
      apiGroups: ["policy"],
      resources: ["poddisruptionbudgets"],
      verbs: read,
      why: "how many apps a rollout may stop",
    },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"], why: "what happens to sets" },
  ],
  identities: [
    {
      apiGroups: ["certificates.k8s.io"],
      resources: ["certificatesigningrequests"],
      verbs: read,
      why: "the requests of agents",
    },
    { apiGroups: [""], resources: ["nodes"], verbs: read, why: "which names and addresses are taken" },
    { apiGroups: [group], resources: [plural], verbs: read, why: "which apps refer to Secrets" },
    { apiGroups: [rbac], resources: ["roles", "rolebindings"], verbs: read, why: "its own, to restore them" },
    {
      apiGroups: [""],
      resources: ["namespaces"],
      verbs: ["get"],
      why: "whether a name in a certificate could be that of a Service",
    },
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
    why: "the signers of agents' certificates",
  },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests/approval"],
    verbs: ["patch"],
    why: "approves and denies",
  },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: ["delete"],
    why: "removes those that were decided",
  },
];

/**
 * What lets agents read the Secrets of their apps: with it one can give any right to anyone, unless an admission policy says which. So it
 * is bound together with that policy only.
 */
export const granterRules: readonly Rule[] = [
  {
    apiGroups: [rbac],
    resources: ["roles"],
    verbs: ["create", "patch", "delete", "escalate", "bind"],
    why: "lets agents read the Secrets of their apps; the last two since it may not read them itself",
  },
  {
    apiGroups: [rbac],
    resources: ["rolebindings"],
    verbs: ["create", "patch", "delete"],
    why: "gives these Roles to their agents",
  },
];

/** In the namespace of the agents: whose key has which name. */
export const claimRules: readonly Rule[] = [
  {
    apiGroups: [""],
    resources: ["configmaps"],
    verbs: [...read, "create", "patch", "delete"],
    why: "records whose key has which node name, and which nodes are refused",
  },
];

/** In the namespace default: the addresses of the API server, for which no node gets a certificate. */
export const serverAddressRules: readonly Rule[] = [
  {
    apiGroups: [""],
    resources: ["services", "endpoints"],
    resourceNames: ["kubernetes"],
    verbs: ["get"],
    why: "the addresses of the API server, which no node gets in a certificate",
  },
];

/** In the namespace of the agents' Leases. */
export const nodeLeaseRules: readonly Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: read, why: "which agents live" },
];

/** There too: whether an agent has the name that a node asks for. */
export const lookedUpLeaseRules: readonly Rule[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get"],
    why: "which names agents have",
  },
];
