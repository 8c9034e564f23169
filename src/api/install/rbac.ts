/**
 * The permissions of agents and schedulers: the minimum that they need.
 *
 * RBAC cannot express "only its own": an agent may change the status of every NCApp and every Node. The admission policy
 * (`admission-policy.ts`) adds that restriction on servers that support it. Writing NCApps, which mirrors need, would let
 * one node run code on another where there is no such policy. An administrator binds the role `nckubelet-mirror` in each
 * namespace with mirrors, and `nckubelet-env-reader` in each whose Secrets and ConfigMaps apps read. Writing Pods would even let it
 * take over the cluster: the role `nckubelet-pods` is bound together with the policy only (`bindPods`). The controllers write the
 * apps of all nodes; what else their roles leave open, `controller-policy.ts` closes.
 */
import { controllerRules, nodeLeaseRules, type Rule } from "../controller-rules.ts";
import {
  agentAccounts,
  agentGroup,
  agentNamespace,
  controllerAccountName,
  crdName,
  group,
  leaseNamespace,
  plural,
  schedulerGroup,
  schedulerLease,
  setsLease,
  systemNamespace,
} from "../names.ts";

const read = ["get", "list", "watch"];

const reviewRules: Rule[] = [
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

const agentRules: Rule[] = [
  { apiGroups: [group], resources: [plural], verbs: read },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "create", "patch"] },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  // Its uid identifies the cluster.
  { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: ["list"] },
  // For `nckubelet doctor`, which compares it.
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: [crdName],
    verbs: ["get"],
  },
  ...reviewRules,
];

const agentLeaseRules: Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
];

// The authority of the API server's client certificate, for the kubelet API.
const clientAuthorityRules: Rule[] = [
  {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: ["extension-apiserver-authentication"],
    verbs: ["get"],
  },
];

const mirrorRules: Rule[] = [
  { apiGroups: [group], resources: [plural], verbs: ["create", "patch", "delete"] },
];

const podRules: Rule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: [...read, "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
];

const envReaderRules: Rule[] = [
  { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get"] },
];

// RBAC cannot restrict "create" by name. Schedulers with another name need a role for their own Lease: RBAC has no
// patterns.
const leaderRules: Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [schedulerLease, setsLease],
    verbs: ["get", "update", "patch"],
  },
];

const agents = [
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: agentGroup },
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: agentAccounts },
];
const scheduler = [
  { kind: "ServiceAccount", namespace: systemNamespace, name: controllerAccountName },
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: schedulerGroup },
];

/** Returns namespaces, service account, roles and bindings for every server. */
export function buildRBAC(): object[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: agentNamespace } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: controllerAccountName, namespace: systemNamespace },
    },
    clusterRole("nckubelet-agent", agentRules),
    clusterRoleBinding("nckubelet-agent", agents),
    role(leaseNamespace, "nckubelet-agent", agentLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-agent", agents),
    role("kube-system", "nckubelet-agent", clientAuthorityRules),
    roleBinding("kube-system", "nckubelet-agent", agents),
    clusterRole("nckubelet-mirror", mirrorRules),
    clusterRole("nckubelet-pods", podRules),
    clusterRole("nckubelet-env-reader", envReaderRules),
    clusterRole("nckubelet-scheduler", controllerRules.scheduler),
    clusterRoleBinding("nckubelet-scheduler", scheduler),
    // Bound to the scheduler's accounts: one process runs all controllers.
    clusterRole("nckubelet-sets", controllerRules.sets),
    clusterRoleBinding("nckubelet-sets", scheduler),
    role(leaseNamespace, "nckubelet-scheduler", nodeLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-scheduler", scheduler),
    role(systemNamespace, "nckubelet-scheduler", leaderRules),
    roleBinding(systemNamespace, "nckubelet-scheduler", scheduler),
  ];
}

/** Returns the binding that lets agents show their apps as Pods. Only for servers with the admission policy. */
export function bindPods(): object {
  return clusterRoleBinding("nckubelet-pods", agents);
}

function clusterRole(name: string, rules: readonly Rule[]): object {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules };
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
