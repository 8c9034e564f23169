/**
 * ValidatingAdmissionPolicies that restrict the controllers to what they write. RBAC gives them whole resources; some of these belong to
 * others: StatefulSets and DaemonSets keep their Pod templates in ControllerRevisions, and administrators their quotas in ResourceQuotas.
 *
 * A controller may write the apps and revisions of NCAppSets, where other apps run, its part of quotas, its Leases, and events about
 * all that; it may delete jobs that say when. So whoever has its credential can run code on the nodes of agents, and on no others.
 *
 * A controller is the service account of a Deployment, or a member of the group `nckubelet:schedulers`. An agent with controllers is
 * one of these, named `nckubelet:NODE`: it also writes what its node needs.
 */
import {
  agentAccounts,
  agentGroup,
  agentLease,
  agentNamespace,
  agentUser,
  annotations,
  bootstrapGroup,
  claimKeys,
  claimName,
  clientSigner,
  controllerAccount,
  grantLabel,
  grantPrefix,
  group,
  identitiesAccount,
  identitiesLease,
  kind,
  leaseNamespace,
  nodeFinalizer,
  oldQuotaKeys,
  plural,
  quotaKeys,
  refusedNodes,
  schedulerGroup,
  schedulerLease,
  servingSigner,
  setKind,
  setLabels,
  setPlural,
  setsLease,
  systemNamespace,
  systemNamespacePrefix,
} from "../names.ts";
import { spec } from "../schema/schema.ts";
import {
  both,
  definePolicy,
  holderOf,
  isBound,
  isMirror,
  isSameField,
  isUnchanged,
  nodeVariable,
  type ResourceRule,
  type Validation,
  writesTo,
} from "./policy-parts.ts";

/** Returns the policies, each with its binding. */
export function buildControllerPolicies(): object[] {
  return [
    ...policy("nckubelet-controller-revisions", writesTo("apps", ["controllerrevisions"]), [
      ...revisionVariables,
    ], revisionValidations),
    ...policy("nckubelet-controller-sets", writesTo(group, [setPlural]), [], setValidations),
    ...policy("nckubelet-controller-apps", writesTo(group, [plural, `${plural}/status`]), [
      nodeVariable,
      ...appVariables,
    ], appValidations),
    ...policy(
      "nckubelet-controller-quotas",
      writesTo("", ["resourcequotas", "resourcequotas/status"]),
      quotaVariables,
      quotaValidations,
    ),
    ...policy("nckubelet-controller-leases", writesTo("coordination.k8s.io", ["leases"]), [
      nodeVariable,
    ], leaseValidations),
    ...policy("nckubelet-controller-pods", writesTo("", ["pods", "pods/status"]), [
      nodeVariable,
    ], podValidations),
    ...policy("nckubelet-controller-requests", decisions, [], requestValidations),
    ...policy("nckubelet-controller-claims", writesTo("", ["configmaps"]), [], claimValidations),
    ...policy(
      "nckubelet-controller-grants",
      writesTo("rbac.authorization.k8s.io", ["roles", "clusterroles"]),
      grantVariables,
      roleValidations,
    ),
    ...policy(
      "nckubelet-controller-grant-bindings",
      writesTo("rbac.authorization.k8s.io", ["rolebindings", "clusterrolebindings"]),
      grantVariables,
      bindingValidations,
    ),
    ...policy("nckubelet-controller-events", writesTo("", ["events"]), [], eventValidations),
  ];
}

export const isController =
  `request.userInfo.username in ['${controllerAccount}', '${identitiesAccount}'] || ` +
  `(has(request.userInfo.groups) && '${schedulerGroup}' in request.userInfo.groups)`;

const isSet = (owner: string) =>
  `${owner}.kind == '${setKind}' && ${owner}.apiVersion.startsWith('${group}/')`;
const ownersOf = (object: string) =>
  `(has(${object}.metadata.ownerReferences) ? ${object}.metadata.ownerReferences : [])`;
const labelsOf = (object: string) => `has(${object}.metadata.labels) ? ${object}.metadata.labels : {}`;
const isControlledBySet = (object: string) =>
  `${ownersOf(object)}.exists(o, has(o.controller) && o.controller && ${isSet("o")})`;
const isOfSetOnly = (object: string) => `size(${ownersOf(object)}) == 1 && ${isControlledBySet(object)}`;

const revisionVariables = [
  ...both("ofSet", "true", isOfSetOnly),
  ...both("labels", "{}", labelsOf),
  {
    name: "isAdoption",
    expression: `request.operation == 'UPDATE' && size(${ownersOf("oldObject")}) == 0 && ` +
      `'${setLabels.revision}' in variables.oldLabels`,
  },
];

const revisionValidations: Validation[] = [
  {
    expression: "variables.ofSet && (variables.oldOfSet || variables.isAdoption)",
    message:
      `a controller may write only ControllerRevisions whose one owner and controller is an ${setKind}`,
  },
  {
    // StatefulSets and DaemonSets find theirs by labels and by the uid of the owner, which nobody checks.
    expression: "request.operation == 'DELETE' || (request.operation == 'CREATE' ? " +
      `variables.labels.all(label, label == '${setLabels.revision}') : variables.labels == variables.oldLabels)`,
    message: `a controller gives a ControllerRevision no label but ${setLabels.revision}`,
  },
  {
    expression: isUnchanged("finalizers"),
    message: "a controller may not change metadata.finalizers of a ControllerRevision",
  },
];

const setValidations: Validation[] = [
  {
    expression: "request.operation == 'DELETE' && has(oldObject.spec.job) && " +
      "has(oldObject.spec.job.ttlSecondsAfterFinished)",
    message:
      `a controller may delete only an ${setKind} with job.ttlSecondsAfterFinished, and write no other`,
  },
];

/** What the scheduler writes into the spec of an app. */
const boundFields = ["nodeName", "cpuPCT", "memPCT"];
const otherFields = Object.keys(spec.properties).filter((field) => !boundFields.includes(field));
const hasMark = (object: string) =>
  `has(${object}.metadata.annotations) && '${annotations.mirror}' in ${object}.metadata.annotations`;
const finalizersOf = (object: string) =>
  `has(${object}.metadata.finalizers) ? ${object}.metadata.finalizers.filter(f, f != '${nodeFinalizer}') : []`;

const appVariables = [
  { name: "isStatus", expression: "has(request.subResource) && request.subResource == 'status'" },
  ...both("ofSet", "false", isControlledBySet),
  ...both("marked", "false", hasMark),
  ...both("others", "[]", (object) => `${ownersOf(object)}.filter(o, !(${isSet("o")}))`),
  ...both("finalizers", "[]", finalizersOf),
  ...both("holder", "''", holderOf),
  ...both("ownMirror", "true", (object) => `${isBound(object)} && ${isMirror(object)}`),
  {
    name: "free",
    expression:
      "variables.isStatus || (variables.node != '' && variables.ownMirror && variables.oldOwnMirror)",
  },
];

const appValidations: Validation[] = [
  {
    expression: "variables.free || (request.operation != 'CREATE' || variables.ofSet) && " +
      "(request.operation != 'DELETE' || variables.oldOfSet)",
    message: `a controller may create and delete only NCApps whose controller is an ${setKind}`,
  },
  {
    expression: "variables.free || !(variables.marked || variables.oldMarked) || " +
      `(request.operation == 'UPDATE' && object.spec == oldObject.spec && variables.ofSet == variables.oldOfSet)`,
    message:
      `a controller may not adopt, create, change or delete a mirror (annotation ${annotations.mirror})`,
  },
  {
    expression:
      "variables.free || request.operation != 'UPDATE' || (variables.ofSet && variables.oldOfSet) || (" +
      `${otherFields.map(isSameField).join(" && ")})`,
    message: `a controller may change only ${
      boundFields.join(", ")
    } in the spec of an NCApp that no ${setKind} controls`,
  },
  {
    expression: "request.operation == 'DELETE' || variables.others == variables.oldOthers",
    message: `a controller may add and remove only owners that are an ${setKind}`,
  },
  {
    expression: "request.operation == 'DELETE' || variables.finalizers == variables.oldFinalizers",
    message: `a controller may add and remove only the finalizer ${nodeFinalizer}`,
  },
  {
    expression:
      "!variables.isStatus || variables.holder == variables.oldHolder || variables.holder == '' || " +
      "variables.holder == variables.node",
    message: "a controller may clear status.nodeName, but not set it",
  },
];

// Older controllers, which an upgrade replaces later than this policy, write the old keys.
const ownKeys = `[${
  [...Object.values(quotaKeys), ...Object.values(oldQuotaKeys)].map((key) => `'${key}'`).join(", ")
}]`;
const amounts = ["hard", "used"];

const quotaVariables = amounts.flatMap((field) =>
  both(
    field,
    "{}",
    (object) => `has(${object}.status) && has(${object}.status.${field}) ? ${object}.status.${field} : {}`,
  )
);

const quotaValidations: Validation[] = [
  {
    expression: "request.operation == 'UPDATE' && object.spec == oldObject.spec && " +
      amounts.flatMap((field) => {
        const [now, before] = [
          `variables.${field}`,
          `variables.old${field[0]!.toUpperCase()}${field.slice(1)}`,
        ];
        const isSame = (a: string, b: string) =>
          `${a}.all(key, key in ${ownKeys} || (key in ${b} && ${b}[key] == ${a}[key]))`;
        return [isSame(now, before), isSame(before, now)];
      }).join(" && "),
    message: `a controller may change only ${
      Object.values(quotaKeys).join(" and ")
    } in the status of a ResourceQuota`,
  },
  ...[["ownerReferences", "[]"], ["finalizers", "[]"], ["labels", "{}"], ["annotations", "{}"]].map((
    [field = "", none],
  ) => ({
    // The status of a ResourceQuota also carries its metadata.
    expression: isUnchanged(field, none),
    message: `a controller may not change metadata.${field} of a ResourceQuota`,
  })),
];

const leaseValidations: Validation[] = [
  {
    expression: "request.operation != 'DELETE' && " +
      `(request.namespace == '${systemNamespace}' ? ` +
      `(request.userInfo.username == '${identitiesAccount}' ? object.metadata.name == '${identitiesLease}' : ` +
      `object.metadata.name in ['${schedulerLease}', '${setsLease}'] || ` +
      `object.metadata.name.startsWith('${schedulerLease}-')) : request.namespace == '${leaseNamespace}' && ` +
      `variables.node != '' && object.metadata.name in [variables.node, '${
        agentLease("")
      }' + variables.node])`,
    message: "a controller may write only the Leases of its election",
  },
];

const podValidations: Validation[] = [
  {
    // Of an agent with controllers, the policy for agents decides.
    expression: "variables.node != '' || (request.operation == 'DELETE' && " +
      `${ownersOf("oldObject")}.exists(o, has(o.controller) && o.controller && ` +
      `o.kind in ['${kind}', '${setKind}'] && o.apiVersion.startsWith('${group}/')))`,
    message:
      `a controller may only delete Pods, and only those whose controller is an ${kind} or an ${setKind}`,
  },
];

const decisions: ResourceRule = {
  ...writesTo("certificates.k8s.io", ["certificatesigningrequests", "certificatesigningrequests/approval"]),
  operations: ["UPDATE", "DELETE"],
};

const requesters = [bootstrapGroup, agentGroup, agentAccounts].map((name) => `'${name}'`).join(", ");

const requestValidations: Validation[] = [
  {
    expression: `oldObject.spec.signerName in ['${clientSigner}', '${servingSigner}'] && ` +
      `has(oldObject.spec.groups) && oldObject.spec.groups.exists(name, name in [${requesters}])`,
    message:
      "a controller may approve, deny and delete only requests of agents and of their bootstrap tokens",
  },
];

const claimValidations: Validation[] = [
  {
    // An invitation has no key: administrators make it, and take it back.
    expression: `request.namespace == '${agentNamespace}' && (request.operation == 'DELETE' ? ` +
      `oldObject.metadata.name.startsWith('${
        claimName("")
      }') && has(oldObject.data) && 'key' in oldObject.data : ` +
      `!has(object.binaryData) && (object.metadata.name == '${refusedNodes}' || ` +
      `(object.metadata.name.startsWith('${claimName("")}') && ` +
      `(!has(object.data) || object.data.all(key, key in [${
        claimKeys.map((key) => `'${key}'`).join(", ")
      }])))))`,
    message: `a controller may write only ConfigMaps ${
      claimName("NODE")
    } in ${agentNamespace}, with no keys but ${
      claimKeys.join(", ")
    }, and ${refusedNodes}, and delete only claims with a key`,
  },
];

const grantVariables = [
  { name: "grant", expression: "request.operation == 'DELETE' ? oldObject : object" },
  {
    name: "isDelete",
    expression: "request.operation == 'DELETE'",
  },
];

/** Others may have changed all else in the object that is replaced or deleted, and then it must be restored. */
const isGrant = (resource: string): Validation => ({
  expression: `request.resource.resource == '${resource}' && ` +
    `variables.grant.metadata.name.matches('^${grantPrefix}[0-9a-f]{32}$') && ` +
    `!request.namespace.startsWith('${systemNamespacePrefix}') && ` +
    `!(request.namespace in ['${systemNamespace}', '${agentNamespace}'])`,
  message: `a controller may write only Roles and RoleBindings ${grantPrefix}DIGEST, ` +
    `and none in ${systemNamespacePrefix}*, ${systemNamespace} and ${agentNamespace}`,
});
const isMarked: Validation = {
  expression: "variables.isDelete || (has(object.metadata.labels) && " +
    `'${grantLabel}' in object.metadata.labels && object.metadata.labels['${grantLabel}'] == 'true')`,
  message: `a controller may write only Roles and RoleBindings with the label ${grantLabel}=true`,
};

const roleValidations: Validation[] = [
  isGrant("roles"),
  isMarked,
  {
    expression:
      "variables.isDelete || object.rules.all(rule, rule.verbs == ['get'] && rule.apiGroups == [''] && " +
      "rule.resources in [['secrets'], ['configmaps']] && has(rule.resourceNames) && size(rule.resourceNames) > 0)",
    message: "a controller may let agents only get Secrets and ConfigMaps, by name",
  },
];

const bindingValidations: Validation[] = [
  isGrant("rolebindings"),
  isMarked,
  {
    expression:
      "variables.isDelete || (object.roleRef.kind == 'Role' && object.roleRef.name == object.metadata.name)",
    message: "a controller may bind only the Role with the name of the RoleBinding",
  },
  {
    expression: "variables.isDelete || object.subjects.all(subject, subject.kind == 'User' ? " +
      `subject.name.startsWith('${agentUser("")}') : ` +
      `subject.kind == 'ServiceAccount' && subject.namespace == '${agentNamespace}')`,
    message: `a controller may bind only users ${
      agentUser("NODE")
    } and service accounts in ${agentNamespace}`,
  },
];

const isOwnSubject = (object: string) => {
  const subject = `${object}.involvedObject`;
  return `(has(${subject}.apiVersion) && ${subject}.apiVersion.startsWith('${group}/')) || ` +
    `(has(${subject}.kind) && (${subject}.kind == 'Node' || ` +
    `(${subject}.kind == 'Namespace' && ${subject}.name == '${systemNamespace}')))`;
};

const eventValidations: Validation[] = [
  {
    expression: `request.operation != 'DELETE' && (${isOwnSubject("object")}) && ` +
      `(request.operation == 'CREATE' || ${isOwnSubject("oldObject")})`,
    message: "a controller may write only events about NCApps, NCAppSets, Nodes and its own namespace",
  },
];

function policy(name: string, rule: ResourceRule, variables: object[], validations: Validation[]): object[] {
  const condition = { name: "is-controller", expression: isController };
  return definePolicy(name, { resourceRules: [rule], condition, variables, validations });
}
