/**
 * What an agent may do with Pods: write those that show the apps of its own node, and nothing that gives a kubelet of that node, or
 * another program that runs Pods, something that it did not have: a volume, a variable, a Secret, a service account. The Pods of apps
 * that a drain moves are no mirror Pods, so the API server gives them the default service account; without volumes, node
 * credentials get no token of it (NodeRestriction, since 1.33).
 *
 * Of other Pods that are bound to its node, which it does not run, it may set the phase Failed, and finish a deletion that was
 * requested.
 */
import {
  agentNamespace,
  group,
  kind,
  podMarkAnnotation,
  podMirrorAnnotation,
  podsLabel,
  setKind,
  systemNamespace,
  systemNamespacePrefix,
} from "../names.ts";

/** Where agents show apps as Pods: `auto` where nothing says no, `labelled` where the namespace says yes. Never in `kube-*`. */
export type PodNamespaces = "auto" | "labelled";

export const podVariables = [
  { name: "own", expression: "request.operation == 'CREATE' || " + isMirrorPod("oldObject") },
  {
    name: "foreign",
    expression: `request.operation != 'CREATE' && ${isHere("oldObject")} && !${hasMark("oldObject")}`,
  },
  { name: "staysOwn", expression: "request.operation == 'DELETE' || " + isMirrorPod("object") },
];

/** `isUnchanged` returns an expression: the field of metadata is as before, and empty in a new object. */
export function podValidations(
  isUnchanged: (field: string, none?: string) => string,
  namespaces: PodNamespaces,
): { expression: string; message: string }[] {
  return [
    {
      expression: "variables.foreign || (variables.own && variables.staysOwn)",
      message:
        `an agent may write only Pods of its own node with the annotation ${podMirrorAnnotation} or ${podMarkAnnotation}`,
    },
    {
      expression:
        "!variables.foreign || (request.operation == 'DELETE' ? has(oldObject.metadata.deletionTimestamp) : " +
        "(has(request.subResource) && request.subResource == 'status' && " +
        "has(object.status.phase) && object.status.phase == 'Failed' && " +
        ["podIP", "podIPs", "hostIP"].map(isSameStatus).join(" && ") + " && " +
        [isUnchanged("labels", "{}"), isUnchanged("annotations", "{}")].map((part) => `(${part})`).join(
          " && ",
        ) +
        "))",
      message:
        "of a Pod that shows no app, an agent may only set the phase Failed, and finish a deletion that was requested",
    },
    {
      expression:
        `variables.foreign || request.operation == 'DELETE' || !request.namespace.startsWith('${systemNamespacePrefix}')`,
      message:
        `an agent shows no app as a Pod in a namespace ${systemNamespacePrefix}*: Services there would send it the cluster's own traffic`,
    },
    {
      // The status of a Pod that is there already stays true.
      expression: "variables.foreign || request.operation == 'DELETE' || " +
        "(has(request.subResource) && request.subResource == 'status') || " +
        `(!(request.namespace in ['${systemNamespace}', '${agentNamespace}']) && ` +
        `${labelOf} ${namespaces === "labelled" ? "== 'true'" : "!= 'false'"})`,
      message: namespaces === "labelled"
        ? `an agent shows no app as a Pod in a namespace without the label ${podsLabel}=true`
        : `an agent shows no app as a Pod in a namespace with the label ${podsLabel}=false, or of NC-Kubelet itself`,
    },
    {
      expression: whenCreated(
        "!has(object.spec.volumes) && !has(object.spec.initContainers) && !has(object.spec.ephemeralContainers) && " +
          "!has(object.spec.imagePullSecrets) && size(object.spec.containers) == 1 && " +
          // The API server gives every Pod an empty one.
          "(!has(object.spec.securityContext) || size(object.spec.securityContext) == 0) && " +
          `object.spec.containers.all(c, !has(c.env) && !has(c.envFrom) && ${
            onlyRestricts("c.securityContext")
          })`,
      ),
      message:
        "the Pod of an agent has one container, without volumes, variables, Secrets, and a security context that allows more",
    },
    {
      expression: whenCreated(
        "(!has(object.spec.serviceAccountName) || object.spec.serviceAccountName == '' || " +
          "(object.spec.serviceAccountName == 'default' && has(object.spec.automountServiceAccountToken) && " +
          "!object.spec.automountServiceAccountToken)) && " +
          ["hostNetwork", "hostPID", "hostIPC"].map(isOff).join(" && "),
      ),
      message:
        "the Pod of an agent has no service account but the default one, no token of it, and not the network, processes or IPC of its node",
    },
    {
      // A Pod without a controller is adopted by any ReplicaSet that selects it, which then deletes one of its own instead.
      expression: "request.operation == 'CREATE' ? has(object.metadata.ownerReferences) && " +
        "object.metadata.ownerReferences.all(owner, owner.apiVersion.startsWith('" + group + "/') && " +
        "!(has(owner.blockOwnerDeletion) && owner.blockOwnerDeletion)) && " +
        `object.metadata.ownerReferences.exists_one(owner, owner.kind == '${kind}') && ` +
        // Of two owners the other is the set of the app.
        "object.metadata.ownerReferences.exists_one(owner, has(owner.controller) && owner.controller && owner.kind == " +
        `(size(object.metadata.ownerReferences) == 1 ? '${kind}' : '${setKind}')) && ` +
        `size(object.metadata.ownerReferences) <= 2 : ${isUnchanged("ownerReferences")}`,
      message:
        `the Pod of an agent has one ${kind} or its ${setKind} as its controller, for good, and does not block its deletion`,
    },
    {
      expression: "request.operation != 'UPDATE' || object.spec == oldObject.spec",
      message: "an agent may not change the spec of a Pod",
    },
    {
      expression: isUnchanged("finalizers"),
      message: "an agent may not change metadata.finalizers of a Pod",
    },
  ];
}

const namespaceLabels = "namespaceObject.metadata.labels";
const labelOf =
  `(has(${namespaceLabels}) && '${podsLabel}' in ${namespaceLabels} ? ${namespaceLabels}['${podsLabel}'] : '')`;

function whenCreated(expression: string): string {
  return `request.operation != 'CREATE' || (${expression})`;
}

function isOff(field: string): string {
  return `!(has(object.spec.${field}) && object.spec.${field})`;
}

function isMirrorPod(object: string): string {
  return `(${isHere(object)} && ${hasMark(object)})`;
}

function isHere(object: string): string {
  return `(has(${object}.spec.nodeName) && ${object}.spec.nodeName == variables.node)`;
}

function hasMark(object: string): string {
  const marks = [podMirrorAnnotation, podMarkAnnotation].map((mark) =>
    `'${mark}' in ${object}.metadata.annotations`
  );
  return `(has(${object}.metadata.annotations) && (${marks.join(" || ")}))`;
}

function isSameStatus(field: string): string {
  const [now, before] = [`object.status.${field}`, `oldObject.status.${field}`];
  return `(has(${now}) ? has(${before}) && ${now} == ${before} : !has(${before}))`;
}

/** No context, or one that takes rights away, for Pod Security `restricted`. */
function onlyRestricts(context: string): string {
  const weakening = [
    "privileged",
    "procMount",
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
  ];
  return `(!has(${context}) || (${weakening.map((field) => `!has(${context}.${field})`).join(" && ")} && ` +
    `has(${context}.allowPrivilegeEscalation) && !${context}.allowPrivilegeEscalation && ` +
    `has(${context}.runAsNonRoot) && ${context}.runAsNonRoot && ` +
    `!(has(${context}.capabilities) && has(${context}.capabilities.add))))`;
}
