/**
 * ValidatingAdmissionPolicies (API servers 1.30 and later) that restrict each agent to its own node, as NodeRestriction
 * does for kubelets. They apply to agents only.
 *
 * An agent may write the status of the NCApps that are bound to its node or held by it, mirrors, its Leases, mirror Pods of its
 * node, events in its own name, and its Node without what administrators decide: cordon, owners, room for Pods, and, once it is
 * registered, taints and labels. Of a Node that a kubelet made, it may write one label. Agents on the list of refused nodes write nothing.
 *
 * An agent is a member of the group `nckubelet:agents` (client certificates, user `nckubelet:NODE`), or a service account
 * in the namespace `nckubelet-agents` with the name of its node.
 */
import {
  agentAccounts,
  agentComponent,
  agentGroup,
  agentLease,
  agentNamespace,
  agentUser,
  annotations,
  bootstrapGroup,
  clientSigner,
  group,
  kind,
  labels,
  leaseNamespace,
  nodeTaint,
  plural,
  refusedNodes,
  registeredBy,
  servingSigner,
} from "../names.ts";
import { freeReservedLabels, ownNodeLabels, reservedDomains } from "../node-labels.ts";
import { type PodNamespaces, podValidations, podVariables } from "./pod-policy.ts";
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
export function buildAdmissionPolicies(pods: PodNamespaces): object[] {
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
      podValidations(isUnchanged, pods),
      isAgentByName,
    ),
    ...policy("nckubelet-agent-events", [writesTo("", ["events"])], [], eventValidations),
    ...definePolicy("nckubelet-agent-refused", {
      resourceRules: [
        writesTo(group, [plural, `${plural}/status`]),
        writesTo("", ["nodes", "nodes/status", "pods", "pods/status", "events"]),
        writesTo("coordination.k8s.io", ["leases"]),
        writesTo("certificates.k8s.io", ["certificatesigningrequests"]),
      ],
      condition: { name: "is-agent", expression: isAgentByName },
      variables: [nodeVariable],
      validations: [{
        expression: "!(has(params.data) && variables.node in params.data)",
        message: `an administrator or nckubelet controller refuses the agent of this node: ConfigMap ` +
          `${agentNamespace}/${refusedNodes}`,
      }],
      params: { apiVersion: "v1", kind: "ConfigMap", namespace: agentNamespace, name: refusedNodes },
    }),
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

const made = `'${registeredBy}' in `;
const annotationsOf = (object: string) =>
  `(has(${object}.metadata.annotations) ? ${object}.metadata.annotations : {})`;
const isTaint = `taint.key == '${nodeTaint.key}' && taint.effect == '${nodeTaint.effect}'`;
const hasTaint = (object: string) =>
  `(has(${object}.spec.taints) && ${object}.spec.taints.exists(taint, ${isTaint}))`;
/** What an agent offers to kube-scheduler: nothing, since nothing on its node runs Pods. */
const offersNoPods = ["capacity", "allocatable"].map((field) =>
  `(!has(object.status.${field}) || !('pods' in object.status.${field}) || string(object.status.${field}['pods']) == '0')`
).join(" && ");

const nodeVariables = [
  {
    name: "own",
    // A Node without a version was never maintained by anybody.
    expression: `request.operation != 'UPDATE' || ${made}${annotationsOf("oldObject")} || ` +
      "!has(oldObject.status.nodeInfo) || oldObject.status.nodeInfo.kubeletVersion == ''",
  },
  ...both(
    "addresses",
    "[]",
    (object) => `has(${object}.status) && has(${object}.status.addresses) ? ${object}.status.addresses : []`,
  ),
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
    expression: "variables.own || (!(has(request.subResource) && request.subResource == 'status') && " +
      `object.spec == oldObject.spec && ${annotationsOf("object")} == ${annotationsOf("oldObject")} && ` +
      `variables.labels.all(label, label == '${labels.node}' || (label in variables.oldLabels && ` +
      "variables.oldLabels[label] == variables.labels[label])) && " +
      `variables.oldLabels.all(label, label == '${labels.node}' || label in variables.labels))`,
    message:
      `a kubelet made this Node: its agent may change only the label ${labels.node}, unless an administrator adds ` +
      `the annotation ${registeredBy}`,
  },
  {
    expression: `request.operation != 'CREATE' || (${made}${annotationsOf("object")} && ${
      hasTaint("object")
    })`,
    message:
      `the new Node of an agent has the annotation ${registeredBy} and the taint ${nodeTaint.key}:${nodeTaint.effect}`,
  },
  {
    expression: `request.operation != 'UPDATE' || !${hasTaint("oldObject")} || ${hasTaint("object")}`,
    message: `an agent may not remove the taint ${nodeTaint.key} of its Node`,
  },
  {
    expression: `!variables.own || request.operation == 'DELETE' || !has(object.status) || (${offersNoPods})`,
    message: "an agent offers no room for Pods: capacity.pods and allocatable.pods of its Node are 0",
  },
  {
    expression: "variables.addresses.all(given, given in variables.oldAddresses || " +
      "(given.type in ['InternalIP', 'ExternalIP'] ? isIP(given.address) && ip(given.address).isGlobalUnicast() : " +
      "given.address == variables.node || (given.address.startsWith(variables.node + '.') && " +
      "!given.address.matches('(^|[.])(svc|pod|localhost)([.]|$)|[.]cluster[.]local$'))))",
    message:
      "the addresses of an agent's Node are its name, with or without a domain, and addresses that others can reach",
  },
  {
    expression: "variables.cordoned == variables.oldCordoned",
    message: "an agent may not change spec.unschedulable of its Node",
  },
  {
    // The API server adds a taint of its own to each new Node.
    expression: "request.operation == 'CREATE' || variables.taints == variables.oldTaints",
    message: `an agent may add only the taint ${nodeTaint.key} to its Node, and remove none`,
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

const eventVariables = (object: string) => ({
  source: `(has(${object}.source) && has(${object}.source.host) ? ${object}.source.host : '')`,
  component: `(has(${object}.source) && has(${object}.source.component) ? ${object}.source.component : '')`,
  instance: `(has(${object}.reportingInstance) ? ${object}.reportingInstance : '')`,
  about: (field: string) =>
    `(has(${object}.involvedObject.${field}) ? ${object}.involvedObject.${field} : '')`,
});

/** Whose event it is: the API server checks nothing of that. */
const isOwnEvent = (object: string) => {
  const { source, component, instance, about } = eventVariables(object);
  return `(${source} == variables.node && ${component} == '${agentComponent}' && ` +
    `(${instance} == '' || ${instance} == variables.node) && ` +
    `(${about("kind")} == 'Node' ? ${about("name")} == variables.node : ` +
    `${about("namespace")} == request.namespace && (${about("kind")} == '${kind}' ? ` +
    `${about("apiVersion")}.startsWith('${group}/') : ${about("kind")} == 'Pod' && ${
      about("apiVersion")
    } == 'v1')))`;
};

const eventValidations: Validation[] = [
  {
    expression: `request.operation == 'DELETE' ? false : ${isOwnEvent("object")} && ` +
      `(request.operation == 'CREATE' || ${isOwnEvent("oldObject")})`,
    message:
      `an agent may write only events that name its node as their source, about an ${kind} or a Pod of the namespace, ` +
      "or its own Node",
  },
  ...sameOwnersAndFinalizers("an event"),
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
