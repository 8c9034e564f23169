import { join } from "node:path";
import { agentAccounts, agentGroup, crdName, group, plural } from "../../src/api/names.ts";
import { waitFor } from "../wait-for.ts";
import { checkout } from "./parts.ts";
import type { Cluster } from "./cluster.ts";

/** Returns the folder that an admin applies to a server of this version. */
export function crdFolder(cluster: Cluster): string {
  return join(checkout, cluster.has("selectable-fields") ? "crd" : "crd/legacy");
}

/** Applies that folder, or only some of its files, and waits until the API server serves NCApps. */
export async function installCRD(
  cluster: Cluster,
  { only }: { only?: string[] } = {},
): Promise<void> {
  const folder = crdFolder(cluster);
  const files = only?.map((file) => join(folder, file)) ?? [folder];
  await cluster.kubectl(["apply", ...files.flatMap((file) => ["-f", file])]);
  await cluster.kubectl(["wait", "--for=condition=established", "--timeout=30s", `crd/${crdName}`]);
}

/** Waits until the API server describes the fields of a kind: it does so some seconds after it serves the kind. */
export async function describesFields(cluster: Cluster, resource: string): Promise<void> {
  await waitFor(`kubectl explains ${resource}`, async () => {
    const { code } = await cluster.kubectl(["explain", `${resource}.spec`], { allowFail: true });
    return code === 0;
  });
}

const agents = [agentGroup, agentAccounts].map((group) => `--group=${group}`);

/** Lets all agents write mirrors in a namespace, as an admin would. */
export async function allowMirrors(cluster: Cluster, namespace = "default"): Promise<void> {
  const name = "nckubelet-mirror";
  await cluster.kubectl([
    ...["-n", namespace, "create", "rolebinding", name],
    ...[`--clusterrole=${name}`, ...agents],
  ]);
  await isAllowed(cluster, { namespace, verb: "create", group, resource: plural });
}

/** Lets all agents show their apps as Pods, as the admin of a server without admission policies would. Other servers have it. */
export async function allowPods(cluster: Cluster): Promise<void> {
  const name = "nckubelet-pods";
  if (!cluster.has("selectable-fields")) {
    await cluster.kubectl(["create", "clusterrolebinding", name, `--clusterrole=${name}`, ...agents]);
  }
  await isAllowed(cluster, { verb: "create", resource: "pods" });
}

/** The API server reads RBAC from a cache that may lag. */
async function isAllowed(cluster: Cluster, resourceAttributes: object): Promise<void> {
  const spec = { groups: [agentGroup], user: agentGroup, resourceAttributes };
  await waitFor("agents have the right", async () => {
    const { body } = await cluster.request("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      method: "POST",
      body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec },
    });
    return JSON.parse(body).status.allowed;
  });
}
