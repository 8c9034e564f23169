/** What the admission policies of agents and controllers are made of: CEL expressions, and the objects that hold them. */
import { agentAccounts, agentGroup, agentNamespace, agentUser, annotations } from "../names.ts";

/** `expression` holds for what is allowed; `message` says what is. */
export type Validation = { expression: string; message: string };

export type ResourceRule = {
  apiGroups: string[];
  apiVersions: string[];
  operations: string[];
  resources: string[];
  scope: "*";
};

export interface PolicyParts {
  resourceRules: ResourceRule[];
  /** Whose requests the policy checks. */
  condition: { name: string; expression: string };
  variables: object[];
  validations: Validation[];
  /** An object for the expressions, as `params`. Where it does not exist, the policy allows everything. */
  params?: { apiVersion: string; kind: string; namespace: string; name: string };
}

/** Returns a policy that refuses requests, with its binding. */
export function definePolicy(
  name: string,
  { resourceRules, condition, variables, validations, params }: PolicyParts,
): object[] {
  return withBinding(
    name,
    {
      failurePolicy: "Fail",
      ...(params ? { paramKind: { apiVersion: params.apiVersion, kind: params.kind } } : {}),
      matchConstraints: { resourceRules },
      matchConditions: [condition],
      ...(variables.length > 0 ? { variables } : {}),
      // Without a reason the answer would be 422, which says that the object is wrong.
      validations: validations.map((validation) => ({ ...validation, reason: "Forbidden" })),
    },
    params
      ? { paramRef: { namespace: params.namespace, name: params.name, parameterNotFoundAction: "Allow" } }
      : {},
  );
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

export function writesTo(apiGroup: string, resources: string[]): ResourceRule {
  const operations = ["CREATE", "UPDATE", "DELETE"];
  // The default scope is written out: kubectl apply would find a difference each time.
  return { apiGroups: [apiGroup], apiVersions: ["*"], operations, resources, scope: "*" };
}

export const isNoAgent = `!has(request.userInfo.groups) || !('${agentGroup}' in request.userInfo.groups || ` +
  `'${agentAccounts}' in request.userInfo.groups)`;

/** A field of the spec is as before. */
export function isSameField(field: string): string {
  return `(has(object.spec.${field}) ? has(oldObject.spec.${field}) && object.spec.${field} == oldObject.spec.${field} : ` +
    `!has(oldObject.spec.${field}))`;
}

/** The node of the agent that sends a request; empty if no agent does. */
export const nodeVariable = {
  name: "node",
  expression:
    [agentUser(""), `system:serviceaccount:${agentNamespace}:`].map((prefix) =>
      `request.userInfo.username.startsWith('${prefix}') ? request.userInfo.username.substring(${prefix.length}) : `
    ).join("") + "''",
};

/** Returns two variables, `NAME` of the object and `oldNAME` of the object before; `none` stands for no object. */
export function both(name: string, none: string, valueOf: (object: string) => string): object[] {
  const old = `old${name[0]!.toUpperCase()}${name.slice(1)}`;
  return [
    { name, expression: `request.operation == 'DELETE' ? ${none} : (${valueOf("object")})` },
    { name: old, expression: `request.operation == 'CREATE' ? ${none} : (${valueOf("oldObject")})` },
  ];
}

/** A field of metadata is as before; `none` stands for an absent one, and for that of a new object. */
export function isUnchanged(field: string, none = "[]"): string {
  const of = (object: string) => `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : ${none})`;
  return "request.operation == 'DELETE' || " +
    `${of("object")} == (request.operation == 'CREATE' ? ${none} : ${of("oldObject")})`;
}

/** The node that holds an NCApp. */
export function holderOf(object: string): string {
  return `(has(${object}.status) && has(${object}.status.nodeName) ? ${object}.status.nodeName : '')`;
}

export function isBound(object: string): string {
  return `(has(${object}.spec.nodeName) && ${object}.spec.nodeName == variables.node)`;
}

export function isMirror(object: string): string {
  const marks = `${object}.metadata.annotations`;
  return `(has(${marks}) && '${annotations.mirror}' in ${marks} && (!('${annotations.mirrorUid}' in ${marks}) || ` +
    `${marks}['${annotations.mirrorUid}'] == ${object}.metadata.uid))`;
}
