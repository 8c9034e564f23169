/**
 * ValidatingAdmissionPolicies (API servers 1.30 and later) that restrict each agent to its own node, as NodeRestriction
 * does for kubelets. They apply to agents only.
 *
 * An agent may write the status of the NCApps that are bound to its node or held by it, mirrors, its Leases, mirror Pods of its
 * node, and its Node without what administrators decide: cordon, owners, and, once it is registered, taints and labels.
 *
 * An agent is a member of the group `nckubelet:agents` (client certificates, user `nckubelet:NODE`), or a service account
 * in the namespace `nckubelet-agents` with the name of its node.
 */
import {
  agentAccounts,
  agentGroup,
  agentLease,
  agentUser,
  annotations,
  bootstrapGroup,
  clientSigner,
  group,
  leaseNamespace,
  nodeTaint,
  plural,
  servingSigner,
} from "../names.ts";
import { freeReservedLabels, ownNodeLabels, reservedDomains } from "../node-labels.ts";
import { podValidations, podVariables } from "./pod-policy.ts";
import {
  both,
  definePolicy,
  holderOf,
  isBound,
  isMirror,
  isUnchanged,
  nodeVariable,
  type ResourceRule,
  type Validation,
  writesTo,
} from "./policy-parts.ts";

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
      isAgentByName,
    ),
    ...policy(
      "nckubelet-agent-pods",
      [writesTo("", ["pods", "pods/status"])],
      podVariables,
      podValidations(isUnchanged),
      isAgentByName,
    ),
    ...policy("nckubelet-agent-leases", [writesTo("coordination.k8s.io", ["leases"])], [], [{
      expression: `request.namespace == '${leaseNamespace}' && request.operation != 'DELETE' && ` +
        `(object.metadata.name == variables.node || object.metadata.name == '${
          agentLease("")
        }' + variables.node)`,
      message: "an agent may write only the Leases of the node that it runs on",
    }]),
    ...definePolicy("nckubelet-agent-requests", {
      resourceRules: [{
        ...writesTo("certificates.k8s.io", ["certificatesigningrequests"]),
        operations: ["CREATE"],
      }],
      condition: { name: "is-agent-or-bootstrapper", expression: `(${isAgentByName}) || ${isBootstrapper}` },
      variables: [],
      validations: requestValidations,
    }),
  ];
}

const isAgent = `has(request.userInfo.groups) && ('${agentGroup}' in request.userInfo.groups || ` +
  `'${agentAccounts}' in request.userInfo.groups)`;

/** An agent with controllers is a member of their group, and an agent by its name; of its writes to Nodes and Pods none is a controller's. */
const isAgentByName = `(${isAgent}) || request.userInfo.username.startsWith('${agentUser("")}')`;

const isBootstrapper = `(has(request.userInfo.groups) && '${bootstrapGroup}' in request.userInfo.groups)`;

/** What the requests may contain, `nckubelet controller` decides; other approvers must not see any. */
const requestValidations: Validation[] = [
  {
    expression: `object.spec.signerName == '${clientSigner}' || ` +
      `(object.spec.signerName == '${servingSigner}' && !${isBootstrapper})`,
    message:
      `agents request certificates of ${clientSigner} and ${servingSigner} only, bootstrap tokens of ${clientSigner}`,
  },
  {
    expression: "size(object.spec.request) <= 8192",
    message: "the request of an agent has at most 4 KB",
  },
];

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
const isOwnLabel = `label in [${ownNodeLabels.map((label) => `'${label}'`).join(", ")}]`;
/** Others that a new Node may have: `--node-labels`. */
const isFreeLabel = "(label.contains('/') ? " +
  `!(${
    reservedDomains.map((domain) => `label.startsWith('${domain}/') || label.contains('.${domain}/')`).join(
      " || ",
    )
  }) || ${
    freeReservedLabels.map((free) =>
      free.endsWith("/") ? `label.startsWith('${free}')` : `label == '${free}'`
    )
      .join(" || ")
  } : true)`;

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
    expression: "request.operation != 'CREATE' || " +
      `variables.labels.all(label, ${isOwnLabel} || ${isFreeLabel})`,
    message: `an agent may not give its new Node a label of ${reservedDomains.join(", ")} other than these: ${
      [...ownNodeLabels, ...freeReservedLabels].join(", ")
    }`,
  },
  {
    expression:
      `request.operation == 'CREATE' || variables.labels.all(label, ${isOwnLabel} || (label in variables.oldLabels && ` +
      `variables.oldLabels[label] == variables.labels[label])) && ` +
      `variables.oldLabels.all(label, ${isOwnLabel} || label in variables.labels)`,
    message: `an agent may change only these labels of its Node: ${ownNodeLabels.join(", ")}`,
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

function policy(
  name: string,
  resourceRules: ResourceRule[],
  variables: object[],
  validations: Validation[],
  condition = isAgent,
): object[] {
  const hasOwnLease = {
    expression: `!variables.node.startsWith('${agentLease("")}')`,
    message: `a node name must not begin with ${
      agentLease("")
    }: its Lease would be that of the agent of another node`,
  };
  const isNamed = {
    expression: "variables.node != ''",
    message: `an agent's user must be ${agentUser("NODE")}`,
  };
  return definePolicy(name, {
    resourceRules,
    condition: { name: "is-agent", expression: condition },
    variables: [nodeVariable, ...variables],
    validations: [isNamed, hasOwnLease, ...validations],
  });
}
