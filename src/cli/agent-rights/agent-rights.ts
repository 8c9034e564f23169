/** What the credential of an agent must allow, asked with that credential. Changes nothing. */
import {
  agentNamespace,
  agentUser,
  bootstrapGroup,
  crdName,
  group,
  leaseNamespace,
  plural,
} from "../../api/names.ts";
import { missingRights, type Right } from "../../kube/access-review.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { certificateRequests, crds } from "../../kube/resources.ts";

/** The permissions that an agent needs. A test compares them with the RBAC that is installed. */
export const agentPermissions: Right[] = [
  ...["list", "watch"].map((verb) => ({ verb, group, resource: plural })),
  { verb: "patch", group, resource: plural, subresource: "status" },
  ...["get", "create", "patch"].map((verb) => ({ verb, group: "", resource: "nodes" })),
  { verb: "patch", group: "", resource: "nodes", subresource: "status" },
  { verb: "get", group: "", resource: "namespaces", name: "kube-system" },
  ...["create", "patch"].map((verb) => ({ verb, group: "", resource: "events" })),
  { verb: "list", group: "scheduling.k8s.io", resource: "priorityclasses" },
  { verb: "get", group: crds.group, resource: crds.plural, name: crdName },
  { verb: "create", group: "authentication.k8s.io", resource: "tokenreviews" },
  { verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews" },
  ...["create", "get"].map((verb) => (
    { verb, group: certificateRequests.group, resource: certificateRequests.plural }
  )),
  ...["get", "create", "update"].map((verb) => (
    { verb, group: "coordination.k8s.io", resource: "leases", namespace: leaseNamespace }
  )),
];

export const applyManifests = "nckubelet manifests | kubectl apply -f -";

/** Returns what the credential lacks to be that of an agent in this namespace, or in all; undefined if nothing. Throws a KubeError. */
export async function rightsProblem(client: KubeClient, namespace?: string): Promise<string | undefined> {
  const asked = agentPermissions.map((right) => right.resource === plural ? { namespace, ...right } : right);
  const missing = await missingRights(client, asked);
  if (missing.length === 0) return undefined;
  return `may not ${missing.join(", ")}: ${applyManifests}, and add this identity to the group ` +
    `nckubelet:agents or the namespace ${agentNamespace}`;
}

/** Returns what keeps a bootstrap token from requesting the certificate of an agent; undefined if nothing. Throws a KubeError. */
export async function bootstrapProblem(client: KubeClient): Promise<string | undefined> {
  const { group, plural: resource } = certificateRequests;
  if ((await missingRights(client, [{ verb: "create", group, resource }])).length === 0) return undefined;
  return `the bootstrap token may not request a certificate: its Secret needs auth-extra-groups: ${bootstrapGroup}, and the ` +
    `cluster the roles of: ${applyManifests}`;
}

/**
 * Returns what is wrong with the credential for the agent of this node: it is that of another one, whose objects alone it may write.
 * Undefined if it is right, belongs to no node, or if the server, before 1.28, does not say whose it is. Throws a KubeError.
 */
export async function identityProblem(client: KubeClient, node: string): Promise<string | undefined> {
  const user = await whoAmI(client);
  const prefix = [agentUser(""), `system:serviceaccount:${agentNamespace}:`].find((prefix) =>
    user?.startsWith(prefix)
  );
  const owner = prefix === undefined ? undefined : user!.slice(prefix.length);
  if (owner === undefined || owner === node) return undefined;
  return `the credential is that of node ${owner} (user ${user}), and this node is ${node}: use the credential of ` +
    `${node}, or set node-name to ${owner}`;
}

async function whoAmI(client: KubeClient): Promise<string | undefined> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  try {
    const { status } = await client.request<{ status?: { userInfo?: { username?: string } } }>({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: review,
    });
    return status?.userInfo?.username;
  } catch (error) {
    if (hasStatus(error, 404) || hasStatus(error, 403)) return undefined;
    throw error;
  }
}
