/**
 * The permissions of agents and schedulers: the minimum that they need.
 *
 * RBAC cannot express "only its own": an agent may change the status of every NCApp and every Node. The admission policy
 * (`admission-policy.ts`) adds that restriction on servers that support it. Writing NCApps, which mirrors need, would let
 * one node run code on another where there is no such policy. An administrator binds the role `nckubelet-mirror` in each
 * namespace with mirrors. Writing Pods would even let it
 * take over the cluster: the role `nckubelet-pods` is bound together with the policy only (`bindWithPolicies`), and so are
 * `nckubelet-approver` and `nckubelet-granter`, which gives each agent the Secrets of its own apps. The controllers write the apps of all nodes; what else their roles leave open, `controller-policy.ts` closes.
 *
 * Users get `nckubelet-view` with the role `view`, and `nckubelet-edit` with no role: who writes NCApps is root on every node unless
 * an NCAppPolicy says otherwise (`tenancy-policy.ts`). RBAC grants whole objects, so `view` shows the values of variables that are
 * written in an NCApp, as it does for Pods.
 */
import {
  approverRules,
  claimRules,
  controllerRules,
  granterRules,
  lookedUpLeaseRules,
  nodeLeaseRules,
  type PathRule,
  type Rule,
  serverAddressRules,
} from "../controller-rules.ts";
import {
  agentAccounts,
  agentGroup,
  agentNamespace,
  bootstrapGroup,
  controllerAccountName,
  crdName,
  group,
  identitiesAccountName,
  identitiesLease,
  leaseNamespace,
  plural,
  policyPlural,
  schedulerGroup,
  schedulerLease,
  setPlural,
  setsLease,
  systemNamespace,
} from "../names.ts";

const read = ["get", "list", "watch"];

const reviewRules: Rule[] = [
  {
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
    why: "whose token a client of its endpoints has",
  },
  {
    apiGroups: ["authorization.k8s.io"],
    resources: ["subjectaccessreviews"],
    verbs: ["create"],
    why: "what this client may do there",
  },
];

/** Names of requests are not known beforehand, so "get" is for all of them; they hold no secret. */
const requestRules: Rule[] = [
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: ["create", "get"],
    why: "requests its certificates",
  },
];

const agentRules: Rule[] = [
  { apiGroups: [group], resources: [plural], verbs: read, why: "the apps of its node" },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"], why: "the state of its apps" },
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "create", "patch"], why: "registers its Node" },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"], why: "the state of its Node" },
  {
    apiGroups: [""],
    resources: ["namespaces"],
    resourceNames: ["kube-system"],
    verbs: ["get"],
    why: "its uid identifies the cluster",
  },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"], why: "what happens to its apps" },
  {
    apiGroups: ["scheduling.k8s.io"],
    resources: ["priorityclasses"],
    verbs: ["list"],
    why: "which apps it evicts first",
  },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: [crdName],
    verbs: ["get"],
    why: "`nckubelet doctor` compares it",
  },
  ...reviewRules,
  ...requestRules,
];

const agentLeaseRules: Rule[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "create", "update", "patch"],
    why: "says that it lives",
  },
];

const clientAuthorityRules: Rule[] = [
  {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: ["extension-apiserver-authentication"],
    verbs: ["get"],
    why: "the authority of the API server's client certificate, for the kubelet API",
  },
];

const mirrorRules: Rule[] = [
  {
    apiGroups: [group],
    resources: [plural],
    verbs: ["create", "patch", "delete"],
    why: "shows local apps as mirrors",
  },
];

const podRules: Rule[] = [
  {
    apiGroups: [""],
    resources: ["pods"],
    verbs: [...read, "create", "patch", "delete"],
    why: "shows apps as Pods",
  },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"], why: "the state of these Pods" },
];

const leftPodRules: Rule[] = [
  {
    apiGroups: [""],
    resources: ["pods"],
    verbs: ["get", "delete"],
    why: "removes the Pods that lost nodes have left",
  },
];

// RBAC cannot restrict "create" by name. Schedulers with another name need a role for their own Lease: RBAC has no
// patterns.
const leaderRules = (...resourceNames: string[]): Rule[] => [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"], why: "its election" },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames,
    verbs: ["get", "update", "patch"],
    why: "its election",
  },
];

const agents = [
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: agentGroup },
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: agentAccounts },
];
const bootstrappers = [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: bootstrapGroup }];
const account = (name: string) => ({ kind: "ServiceAccount", namespace: systemNamespace, name });
const scheduler = [
  account(controllerAccountName),
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: schedulerGroup },
];
// No group: agents with controllers are in that of schedulers, and who approves certificates can become any user.
const identities = [account(identitiesAccountName)];

// As for Pods, the status comes with the object.
const viewRules: Rule[] = [
  {
    apiGroups: [group],
    resources: [plural, setPlural, policyPlural],
    verbs: read,
    why: "users look at apps; part of the role `view`",
  },
];

const editRules: Rule[] = [
  {
    apiGroups: [group],
    resources: [plural, setPlural],
    verbs: ["create", "update", "patch", "delete", "deletecollection"],
    why: "users write apps",
  },
  {
    apiGroups: [group],
    resources: [`${setPlural}/scale`],
    verbs: ["get", "update", "patch"],
    why: "`kubectl scale`",
  },
];

const metricsRules: PathRule[] = [{
  nonResourceURLs: ["/metrics"],
  verbs: ["get"],
  why: "scrapes the controllers",
}];

/** Returns namespaces, service accounts, roles and bindings for every server. */
export function buildRBAC(): object[] {
  // YAML says less than its source: what a rule is for is in docs/rights.md.
  return explainedRBAC().map((object) => {
    const { rules } = object as { rules?: (Rule | PathRule)[] };
    return rules ? { ...object, rules: rules.map(({ why: _, ...rule }) => rule) } : object;
  });
}

/** The same, with the reason of each rule. */
export function explainedRBAC(): object[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: agentNamespace } },
    ...[controllerAccountName, identitiesAccountName].map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: systemNamespace },
    })),
    clusterRole("nckubelet-agent", agentRules),
    clusterRoleBinding("nckubelet-agent", agents),
    role(leaseNamespace, "nckubelet-agent", agentLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-agent", agents),
    role("kube-system", "nckubelet-agent", clientAuthorityRules),
    roleBinding("kube-system", "nckubelet-agent", agents),
    clusterRole("nckubelet-bootstrapper", requestRules),
    clusterRoleBinding("nckubelet-bootstrapper", bootstrappers),
    clusterRole("nckubelet-mirror", mirrorRules),
    clusterRole("nckubelet-pods", podRules),
    clusterRole("nckubelet-left-pods", leftPodRules),
    clusterRole("nckubelet-scheduler", controllerRules.scheduler),
    clusterRoleBinding("nckubelet-scheduler", scheduler),
    // Bound to the scheduler's accounts: one process runs both controllers.
    clusterRole("nckubelet-sets", controllerRules.sets),
    clusterRoleBinding("nckubelet-sets", scheduler),
    clusterRole("nckubelet-identities", controllerRules.identities),
    clusterRoleBinding("nckubelet-identities", identities),
    role(agentNamespace, "nckubelet-identities", claimRules),
    roleBinding(agentNamespace, "nckubelet-identities", identities),
    role("default", "nckubelet-identities", serverAddressRules),
    roleBinding("default", "nckubelet-identities", identities),
    clusterRole("nckubelet-approver", approverRules),
    clusterRole("nckubelet-granter", granterRules),
    // For who scrapes their metrics.
    clusterRole("nckubelet-controller-reviews", reviewRules),
    clusterRoleBinding("nckubelet-controller-reviews", scheduler),
    clusterRole("nckubelet-metrics-reader", metricsRules),
    clusterRole("nckubelet-view", viewRules, { "rbac.authorization.k8s.io/aggregate-to-view": "true" }),
    clusterRole("nckubelet-edit", editRules),
    role(leaseNamespace, "nckubelet-scheduler", nodeLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-scheduler", scheduler),
    role(leaseNamespace, "nckubelet-identities", lookedUpLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-identities", identities),
    role(systemNamespace, "nckubelet-scheduler", leaderRules(schedulerLease, setsLease)),
    roleBinding(systemNamespace, "nckubelet-scheduler", scheduler),
    role(systemNamespace, "nckubelet-identities", leaderRules(identitiesLease)),
    roleBinding(systemNamespace, "nckubelet-identities", identities),
  ];
}

/**
 * Returns the bindings that are safe only with the admission policies: they let agents show their apps as Pods, controllers delete
 * those, and the Deployment of identities approve certificates and let agents read Secrets.
 */
export function bindWithPolicies(): object[] {
  return [
    clusterRoleBinding("nckubelet-pods", agents),
    clusterRoleBinding("nckubelet-left-pods", scheduler),
    clusterRoleBinding("nckubelet-approver", identities),
    clusterRoleBinding("nckubelet-granter", identities),
  ];
}

function clusterRole(
  name: string,
  rules: readonly (Rule | PathRule)[],
  labels?: Record<string, string>,
): object {
  const metadata = { name, ...(labels ? { labels } : {}) };
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata, rules };
}

function role(namespace: string, name: string, rules: readonly Rule[]): object {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name, namespace }, rules };
}

function clusterRoleBinding(name: string, subjects: object[]): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects,
  };
}

function roleBinding(namespace: string, name: string, subjects: object[]): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects,
  };
}
