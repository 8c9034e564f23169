/**
 * ValidatingAdmissionPolicies (API servers 1.30 and later) that restrict each agent to its own node, as NodeRestriction
 * does for kubelets. They apply to agents only.
 *
 * An agent is a member of the group `nckubelet:agents` (client certificates, user `nckubelet:NODE`), or a service account
 * in the namespace `nckubelet-agents` with the name of its node.
 */
import {
  agentGroup,
  agentLease,
  agentNamespace,
  agentUser,
  annotations,
  group,
  leaseNamespace,
  plural,
} from "../names.ts";

type Validation = { expression: string; message: string };
type ResourceRule = { apiGroups: string[]; apiVersions: string[]; operations: string[]; resources: string[] };

/** Returns the policies, each with its binding. */
export function buildAdmissionPolicies(): object[] {
  return [
    ...policy(
      "nckubelet-agent-apps",
      [writesTo(group, [plural, `${plural}/status`])],
      appVariables,
      appValidations,
    ),
    ...policy("nckubelet-agent-nodes", [writesTo("", ["nodes", "nodes/status"])], [], [{
      expression: "request.operation != 'DELETE' && object.metadata.name == variables.node",
      message: "an agent may write only the Node that it runs on",
    }]),
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
  `'system:serviceaccounts:${agentNamespace}' in request.userInfo.groups)`;

const nodeVariable = {
  name: "node",
  expression:
    [userPrefix, accountPrefix].map((prefix) =>
      `request.userInfo.username.startsWith('${prefix}') ? request.userInfo.username.substring(${prefix.length}) : `
    ).join("") + "''",
};

const appVariables = [
  { name: "bound", expression: "request.operation == 'CREATE' || " + isBound("oldObject") },
  { name: "staysBound", expression: "request.operation == 'DELETE' || " + isBound("object") },
  { name: "mirror", expression: "request.operation == 'CREATE' || " + isMirror("oldObject") },
  { name: "staysMirror", expression: "request.operation == 'DELETE' || " + isMirror("object") },
];

const appValidations: Validation[] = [
  {
    expression: "variables.bound && variables.staysBound",
    message: "an agent may write only NCApps that are bound to its node",
  },
  {
    expression: "request.subResource == 'status' || (variables.mirror && variables.staysMirror)",
    message:
      `an agent may write only the status of an NCApp, unless it is a mirror (annotation ${annotations.mirror})`,
  },
];

function isBound(object: string): string {
  return `(has(${object}.spec.nodeName) && ${object}.spec.nodeName == variables.node)`;
}

function isMirror(object: string): string {
  return `(has(${object}.metadata.annotations) && '${annotations.mirror}' in ${object}.metadata.annotations)`;
}

function writesTo(apiGroup: string, resources: string[]): ResourceRule {
  return { apiGroups: [apiGroup], apiVersions: ["*"], operations: ["CREATE", "UPDATE", "DELETE"], resources };
}

function policy(
  name: string,
  resourceRules: ResourceRule[],
  variables: object[],
  validations: Validation[],
): object[] {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules },
        matchConditions: [{ name: "is-agent", expression: isAgent }],
        variables: [nodeVariable, ...variables],
        validations: [
          { expression: "variables.node != ''", message: `an agent's user must be ${userPrefix}NODE` },
          ...validations,
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    },
  ];
}
