/**
 * ValidatingAdmissionPolicies (API servers 1.30 and later) that restrict each agent to its own node, as NodeRestriction
 * does for kubelets. They apply to agents only.
 *
 * An agent may write the status of the NCApps that are bound to its node or held by it, mirrors, its Leases, mirror Pods of its
 * node, and its Node without what administrators decide: cordon, taints, labels, owners.
 *
 * An agent is a member of the group `nckubelet:agents` (client certificates, user `nckubelet:NODE`), or a service account
 * in the namespace `nckubelet-agents` with the name of its node.
 */
import {
  agentAccounts,
  agentGroup,
  agentLease,
  agentNamespace,
  agentUser,
  annotations,
  group,
  labels,
  leaseNamespace,
  nodeTaint,
  plural,
} from "../names.ts";
import { podValidations, podVariables } from "./pod-policy.ts";

type Validation = { expression: string; message: string };
type ResourceRule = {
  apiGroups: string[];
  apiVersions: string[];
  operations: string[];
  resources: string[];
  scope: "*";
};

/** Returns the policies, each with its binding. */
export function buildAdmissionPolicies(): object[] {
  return [
    ...policy(
      "nckubelet-agent-apps",
      [writesTo(group, [plural, `${plural}/status`])],
      appVariables,
      appValidations,
    ),
    ...policy(
      "nckubelet-agent-nodes",
      [writesTo("", ["nodes", "nodes/status"])],
      nodeVariables,
      nodeValidations,
    ),
    ...policy(
      "nckubelet-agent-pods",
      [writesTo("", ["pods", "pods/status"])],
      podVariables,
      podValidations(isUnchanged),
    ),
    ...policy("nckubelet-agent-leases", [writesTo("coordination.k8s.io", ["leases"])], [], [{
      expression: `request.namespace == '${leaseNamespace}' && request.operation != 'DELETE' && ` +
        `(object.metadata.name == variables.node || object.metadata.name == '${
          agentLease("")
        }' + variables.node)`,
      message: "an agent may write only the Leases of the node that it runs on",
    }]),
  ];
}

const userPrefix = agentUser("");
const accountPrefix = `system:serviceaccount:${agentNamespace}:`;

const isAgent = `has(request.userInfo.groups) && ('${agentGroup}' in request.userInfo.groups || ` +
  `'${agentAccounts}' in request.userInfo.groups)`;

const nodeVariable = {
  name: "node",
  expression:
    [userPrefix, accountPrefix].map((prefix) =>
      `request.userInfo.username.startsWith('${prefix}') ? request.userInfo.username.substring(${prefix.length}) : `
    ).join("") + "''",
};

const appVariables = [
  { name: "isStatus", expression: "has(request.subResource) && request.subResource == 'status'" },
  { name: "bound", expression: "request.operation == 'CREATE' || " + isBound("oldObject") },
  { name: "staysBound", expression: "request.operation == 'DELETE' || " + isBound("object") },
  { name: "mirror", expression: "request.operation == 'CREATE' || " + isMirror("oldObject") },
  { name: "staysMirror", expression: "request.operation == 'DELETE' || " + isMirror("object") },
  { name: "holder", expression: `variables.isStatus ? ${holderOf("oldObject")} : ''` },
  { name: "nextHolder", expression: `variables.isStatus ? ${holderOf("object")} : ''` },
];

const appValidations: Validation[] = [
  {
    expression: "variables.isStatus ? variables.bound || variables.holder == variables.node : " +
      "variables.bound && variables.staysBound",
    message: "an agent may write only NCApps that are bound to its node, or held by it (status.nodeName)",
  },
  {
    expression: "variables.isStatus || (variables.mirror && variables.staysMirror)",
    message:
      `an agent may write only the status of an NCApp, unless it is a mirror (annotation ${annotations.mirror})`,
  },
  {
    expression: "variables.nextHolder == variables.holder || variables.nextHolder == variables.node || " +
      "(variables.nextHolder == '' && variables.holder == variables.node)",
    message: "an agent may set status.nodeName only to its own node, and clear only its own",
  },
  ...sameOwnersAndFinalizers("an NCApp"),
];

/** The labels that the agent writes; with its taint, all that it may change of what administrators decide. */
const ownLabels = ["kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", labels.node];
const isOwnLabel = `label in [${ownLabels.map((label) => `'${label}'`).join(", ")}]`;

const nodeVariables = [
  ...both("labels", "{}", (object) => `has(${object}.metadata.labels) ? ${object}.metadata.labels : {}`),
  ...both(
    "taints",
    "[]",
    (object) =>
      `has(${object}.spec.taints) ? ${object}.spec.taints.filter(taint, taint.key != '${nodeTaint.key}') : []`,
  ),
  ...both(
    "cordoned",
    "false",
    (object) => `has(${object}.spec.unschedulable) && ${object}.spec.unschedulable`,
  ),
];

const nodeValidations: Validation[] = [
  {
    expression: "request.operation != 'DELETE' && object.metadata.name == variables.node",
    message: "an agent may write only the Node that it runs on",
  },
  {
    expression: "variables.cordoned == variables.oldCordoned",
    message: "an agent may not change spec.unschedulable of its Node",
  },
  {
    // The API server adds a taint of its own to each new Node.
    expression: "request.operation == 'CREATE' || variables.taints == variables.oldTaints",
    message: `an agent may add and remove only the taint ${nodeTaint.key} of its Node`,
  },
  {
    expression: `variables.labels.all(label, ${isOwnLabel} || (label in variables.oldLabels && ` +
      `variables.oldLabels[label] == variables.labels[label])) && ` +
      `variables.oldLabels.all(label, ${isOwnLabel} || label in variables.labels)`,
    message: `an agent may change only these labels of its Node: ${ownLabels.join(", ")}`,
  },
  ...sameOwnersAndFinalizers("its Node"),
];

/** Through owners and finalizers, an agent could have the garbage collector delete an object, or keep one for good. */
function sameOwnersAndFinalizers(what: string): Validation[] {
  return ["ownerReferences", "finalizers"].map((field) => ({
    expression: isUnchanged(field),
    message: `an agent may not change metadata.${field} of ${what}`,
  }));
}

function isUnchanged(field: string): string {
  const of = (object: string) => `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : [])`;
  return "request.operation == 'DELETE' || " +
    `${of("object")} == (request.operation == 'CREATE' ? [] : ${of("oldObject")})`;
}

/** Returns two variables, `NAME` of the object and `oldNAME` of the object before; `none` stands for no object. */
function both(name: string, none: string, valueOf: (object: string) => string): object[] {
  const old = `old${name[0]!.toUpperCase()}${name.slice(1)}`;
  return [
    { name, expression: `request.operation == 'DELETE' ? ${none} : (${valueOf("object")})` },
    { name: old, expression: `request.operation == 'CREATE' ? ${none} : (${valueOf("oldObject")})` },
  ];
}

function holderOf(object: string): string {
  return `(has(${object}.status) && has(${object}.status.nodeName) ? ${object}.status.nodeName : '')`;
}

function isBound(object: string): string {
  return `(has(${object}.spec.nodeName) && ${object}.spec.nodeName == variables.node)`;
}

function isMirror(object: string): string {
  const marks = `${object}.metadata.annotations`;
  return `(has(${marks}) && '${annotations.mirror}' in ${marks} && (!('${annotations.mirrorUid}' in ${marks}) || ` +
    `${marks}['${annotations.mirrorUid}'] == ${object}.metadata.uid))`;
}

function writesTo(apiGroup: string, resources: string[]): ResourceRule {
  const operations = ["CREATE", "UPDATE", "DELETE"];
  // The default scope is written out: kubectl apply would find a difference each time.
  return { apiGroups: [apiGroup], apiVersions: ["*"], operations, resources, scope: "*" };
}

function policy(
  name: string,
  resourceRules: ResourceRule[],
  variables: object[],
  validations: Validation[],
): object[] {
  return withBinding(name, {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules },
    matchConditions: [{ name: "is-agent", expression: isAgent }],
    variables: [nodeVariable, ...variables],
    // Without a reason the answer would be 422, which says that the object is wrong.
    validations: [
      { expression: "variables.node != ''", message: `an agent's user must be ${userPrefix}NODE` },
      ...validations,
    ].map((validation) => ({ ...validation, reason: "Forbidden" })),
  });
}

/** Returns a policy and the binding that enforces it. */
export function withBinding(name: string, spec: object, binding: object = {}): object[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  return [
    { apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"], ...binding },
    },
  ];
}
