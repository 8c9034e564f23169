/**
 * The permissions of agents and schedulers: the minimum that they need.
 *
 * RBAC cannot express "only its own": an agent may change the status of every NCApp and every Node. The admission policy
 * (`admission-policy.ts`) adds that restriction on servers that support it. Writing NCApps, which mirrors need, would let
 * one node run code on another, so agents get it only together with the policy. For Secrets and ConfigMaps, an
 * administrator binds the role `nckubelet-env-reader` in each namespace.
 */
import {
  agentGroup,
  agentNamespace,
  group,
  leaseNamespace,
  plural,
  schedulerGroup,
  schedulerLease,
  systemNamespace,
} from "../names.ts";

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] };

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
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: ["list"] },
  ...reviewRules,
];

const agentLeaseRules: Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
];

const mirrorRules: Rule[] = [
  { apiGroups: [group], resources: [plural], verbs: ["create", "patch", "delete"] },
];

const envReaderRules: Rule[] = [
  { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get"] },
];

const schedulerRules: Rule[] = [
  { apiGroups: [group], resources: [plural], verbs: [...read, "patch"] },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
  { apiGroups: [""], resources: ["nodes"], verbs: read },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: read },
  { apiGroups: [""], resources: ["resourcequotas", "limitranges"], verbs: read },
  { apiGroups: [""], resources: ["resourcequotas/status"], verbs: ["patch"] },
  ...reviewRules,
];

const nodeLeaseReaderRules: Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: read },
];

// RBAC cannot restrict "create" by name. Schedulers with another name need a role for their own Lease: RBAC has no
// patterns.
const leaderRules: Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [schedulerLease],
    verbs: ["get", "update", "patch"],
  },
];

const agents = [
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: agentGroup },
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: `system:serviceaccounts:${agentNamespace}` },
];
const scheduler = [
  { kind: "ServiceAccount", namespace: systemNamespace, name: "nckubelet-scheduler" },
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
      metadata: { name: "nckubelet-scheduler", namespace: systemNamespace },
    },
    clusterRole("nckubelet-agent", agentRules),
    clusterRoleBinding("nckubelet-agent", agents),
    role(leaseNamespace, "nckubelet-agent", agentLeaseRules),
    roleBinding(leaseNamespace, "nckubelet-agent", agents),
    clusterRole("nckubelet-mirror", mirrorRules),
    clusterRole("nckubelet-env-reader", envReaderRules),
    clusterRole("nckubelet-scheduler", schedulerRules),
    clusterRoleBinding("nckubelet-scheduler", scheduler),
    role(leaseNamespace, "nckubelet-scheduler", nodeLeaseReaderRules),
    roleBinding(leaseNamespace, "nckubelet-scheduler", scheduler),
    role(systemNamespace, "nckubelet-scheduler", leaderRules),
    roleBinding(systemNamespace, "nckubelet-scheduler", scheduler),
  ];
}

/** Returns the binding that lets agents write mirrors. Safe only together with the admission policy. */
export function buildMirrorBinding(): object {
  return clusterRoleBinding("nckubelet-mirror", agents);
}

function clusterRole(name: string, rules: Rule[]): object {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules };
}

function role(namespace: string, name: string, rules: Rule[]): object {
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
