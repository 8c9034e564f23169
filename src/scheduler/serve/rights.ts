/** The permissions that a scheduler needs, and a check for missing ones. */
import {
  defaultSchedulerName,
  electionLease,
  group,
  leaseNamespace,
  plural,
  systemNamespace,
} from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { mayI, type Right } from "../../kube/access-review.ts";

/** A test compares them with the installed RBAC rules. */
export function schedulerRights(schedulerName: string = defaultSchedulerName): Right[] {
  return [
    ...["get", "list", "watch", "patch"].map((verb) => ({ verb, group, resource: plural })),
    { verb: "patch", group, resource: plural, subresource: "status" },
    ...listAndWatch("", "nodes"),
    ...listAndWatch("coordination.k8s.io", "leases", leaseNamespace),
    ...listAndWatch("scheduling.k8s.io", "priorityclasses"),
    ...listAndWatch("", "limitranges"),
    ...listAndWatch("", "resourcequotas"),
    { verb: "patch", group: "", resource: "resourcequotas", subresource: "status" },
    ...["create", "patch"].map((verb) => ({ verb, group: "", resource: "events" })),
    { verb: "create", group: "coordination.k8s.io", resource: "leases", namespace: systemNamespace },
    ...["get", "update"].map((verb) => ({
      verb,
      group: "coordination.k8s.io",
      resource: "leases",
      namespace: systemNamespace,
      name: electionLease(schedulerName),
    })),
  ];
}

/** Asks the API server which permissions this client lacks, such as `patch ncapps`. Throws a KubeError if there is no answer. */
export async function missingRights(
  client: KubeClient,
  signal?: AbortSignal,
  schedulerName?: string,
): Promise<string[]> {
  const rights = schedulerRights(schedulerName);
  const allowed = await Promise.all(rights.map((right) => mayI(client, right, signal)));
  const missing = new Map<string, string[]>();
  for (const right of rights.filter((_, index) => !allowed[index])) {
    const what = describe(right);
    missing.set(what, [...missing.get(what) ?? [], right.verb]);
  }
  return [...missing].map(([what, verbs]) => `${verbs.join("/")} ${what}`);
}

function listAndWatch(group: string, resource: string, namespace?: string): Right[] {
  return ["list", "watch"].map((verb) => ({ verb, group, resource, namespace }));
}

function describe({ resource, subresource, namespace }: Right): string {
  const what = subresource ? `${resource}/${subresource}` : resource;
  return namespace ? `${what} in ${namespace}` : what;
}
