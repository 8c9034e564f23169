/**
 * The Role of a node in a namespace, with the names of the Secrets and ConfigMaps that its agent may read, and its RoleBinding.
 *
 * They are known by their name, which the admission policy reserves for them, and found by a label. Administrators of the namespace can
 * change all else in them, so it is only compared with what it should be.
 */
import { createHash } from "node:crypto";
import { agentNamespace, agentUser, grantAnnotation, grantLabel, grantPrefix } from "../api/names.ts";
import type { References } from "../api/references.ts";
import type { KubeObject } from "../kube/wire.ts";

interface Meta {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface Role extends KubeObject {
  metadata: Meta;
  rules?: { apiGroups?: string[]; resources?: string[]; resourceNames?: string[]; verbs?: string[] }[];
}

export interface RoleBinding extends KubeObject {
  metadata: Meta;
  roleRef?: { apiGroup?: string; kind?: string; name?: string };
  subjects?: { kind?: string; apiGroup?: string; namespace?: string; name?: string }[];
}

export type Grant = Role | RoleBinding;

/** Returns the name of both. The name of a node may be longer than theirs. */
export function grantName(node: string): string {
  return grantPrefix + createHash("sha256").update(node).digest("hex").slice(0, 32);
}

export function grantObjects(namespace: string, node: string, { secrets, configMaps }: References) {
  const apiGroup = "rbac.authorization.k8s.io";
  const apiVersion = `${apiGroup}/v1`;
  const name = grantName(node);
  const marks = { labels: { [grantLabel]: "true" }, annotations: { [grantAnnotation]: node } };
  const metadata = { name, namespace, ...marks };
  const rules = Object.entries({ secrets, configmaps: configMaps }).filter(([, names]) => names.length > 0)
    .map((
      [resource, resourceNames],
    ) => ({ apiGroups: [""], resources: [resource], resourceNames, verbs: ["get"] }));
  const subjects = [
    { kind: "User", apiGroup, name: agentUser(node) },
    { kind: "ServiceAccount", namespace: agentNamespace, name: node },
  ];
  return {
    role: { apiVersion, kind: "Role", metadata, rules },
    binding: {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "Role", name },
      subjects,
    },
    /** What an update of each writes; the API server changes no reference to a role. */
    changes: { role: { metadata: marks, rules }, binding: { metadata: marks, subjects } },
  };
}

/** Returns the same text for objects that grant the same. A digest, since others may write much into them. */
export function contentOf(object: object): string {
  const { metadata, rules, roleRef, subjects } = object as Partial<Role & RoleBinding>;
  const text = JSON.stringify([
    metadata?.labels?.[grantLabel],
    metadata?.annotations?.[grantAnnotation],
    rules?.map((
      { apiGroups, resources, resourceNames, verbs, ...others },
    ) => [apiGroups, resources, resourceNames, verbs, others]),
    roleRef && [roleRef.apiGroup, roleRef.kind, roleRef.name],
    subjects?.map(({ kind, apiGroup = "", namespace, name }) => [kind, apiGroup, namespace, name]),
  ]);
  return createHash("sha256").update(text).digest("base64");
}

/** Reports whether a Role has only names that are wanted, so that writing what is wanted takes no right away. */
export function onlyGrants({ rules = [] }: Role, { secrets, configMaps }: References): boolean {
  const wanted: Record<string, Set<string>> = { secrets: new Set(secrets), configmaps: new Set(configMaps) };
  return rules.every(({ resources = [], resourceNames = [] }) =>
    resourceNames.length > 0 &&
    resources.every((resource) => resourceNames.every((name) => wanted[resource]?.has(name)))
  );
}
