/** The permissions that a scheduler needs, apart from its Lease. A test compares them with the installed RBAC rules. */
import { group, leaseNamespace, plural } from "../api/names.ts";
import type { Right } from "../kube/access-review.ts";

export const schedulerRights: readonly Right[] = [
  ...["get", "list", "watch", "patch"].map((verb) => ({ verb, group, resource: plural })),
  { verb: "patch", group, resource: plural, subresource: "status" },
  ...listAndWatch("", "nodes"),
  ...listAndWatch("coordination.k8s.io", "leases", leaseNamespace),
  ...listAndWatch("scheduling.k8s.io", "priorityclasses"),
  ...listAndWatch("", "limitranges"),
  ...listAndWatch("", "resourcequotas"),
  { verb: "patch", group: "", resource: "resourcequotas", subresource: "status" },
  ...["create", "patch"].map((verb) => ({ verb, group: "", resource: "events" })),
];

function listAndWatch(group: string, resource: string, namespace?: string): Right[] {
  return ["list", "watch"].map((verb) => ({ verb, group, resource, namespace }));
}
