/**
 * What an agent may do with Pods: write those that show the apps of its own node, and nothing that a kubelet would run. A mirror Pod is
 * deleted by the kubelet of its node, if there is one; so the rest is a second line of defense, for other programs that run Pods.
 */
import { group, kind, podMirrorAnnotation, systemNamespacePrefix } from "../names.ts";

export const podVariables = [
  { name: "own", expression: "request.operation == 'CREATE' || " + isMirrorPod("oldObject") },
  { name: "staysOwn", expression: "request.operation == 'DELETE' || " + isMirrorPod("object") },
];

/** `isUnchanged` returns an expression: the field of metadata is as before, and empty in a new object. */
export function podValidations(
  isUnchanged: (field: string) => string,
): { expression: string; message: string }[] {
  return [
    {
      expression: "variables.own && variables.staysOwn",
      message: `an agent may write only Pods of its own node with the annotation ${podMirrorAnnotation}`,
    },
    {
      expression:
        `request.operation == 'DELETE' || !request.namespace.startsWith('${systemNamespacePrefix}')`,
      message:
        `an agent shows no app as a Pod in a namespace ${systemNamespacePrefix}*: Services there would send it the cluster's own traffic`,
    },
    {
      expression: whenCreated(
        "!has(object.spec.volumes) && !has(object.spec.initContainers) && !has(object.spec.ephemeralContainers) && " +
          "!has(object.spec.imagePullSecrets) && size(object.spec.containers) == 1 && " +
          // The API server gives every Pod an empty one.
          "(!has(object.spec.securityContext) || size(object.spec.securityContext) == 0) && " +
          "object.spec.containers.all(c, !has(c.env) && !has(c.envFrom) && !has(c.securityContext))",
      ),
      message:
        "the Pod of an agent has one container, without volumes, variables, Secrets and a security context",
    },
    {
      expression: whenCreated(
        "(!has(object.spec.serviceAccountName) || object.spec.serviceAccountName == '') && " +
          ["hostNetwork", "hostPID", "hostIPC"].map(isOff).join(" && "),
      ),
      message:
        "the Pod of an agent has no service account, and not the network, processes or IPC of its node",
    },
    {
      // A Pod without a controller is adopted by any ReplicaSet that selects it, which then deletes one of its own instead.
      expression: "request.operation == 'CREATE' ? has(object.metadata.ownerReferences) && " +
        "size(object.metadata.ownerReferences) == 1 && object.metadata.ownerReferences.all(owner, " +
        `owner.kind == '${kind}' && owner.apiVersion.startsWith('${group}/') && ` +
        "has(owner.controller) && owner.controller && " +
        `!(has(owner.blockOwnerDeletion) && owner.blockOwnerDeletion)) : ${isUnchanged("ownerReferences")}`,
      message:
        `the Pod of an agent has one ${kind} as its controller, for good, and does not block its deletion`,
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

function whenCreated(expression: string): string {
  return `request.operation != 'CREATE' || (${expression})`;
}

function isOff(field: string): string {
  return `!(has(object.spec.${field}) && object.spec.${field})`;
}

function isMirrorPod(object: string): string {
  return `(has(${object}.spec.nodeName) && ${object}.spec.nodeName == variables.node && ` +
    `has(${object}.metadata.annotations) && '${podMirrorAnnotation}' in ${object}.metadata.annotations)`;
}
