/** The permissions that the sets controller needs. A test compares them with the installed RBAC rules. */
import { group, leaseNamespace, plural, setPlural } from "../api/names.ts";
import type { Right } from "../kube/access-review.ts";

export const setsRights: readonly Right[] = [
  ...rights(["get", "list", "watch"], group, setPlural),
  { verb: "patch", group, resource: setPlural, subresource: "status" },
  ...rights(["get", "list", "watch", "create", "patch", "delete"], group, plural),
  ...rights(["get", "list", "watch", "create", "patch", "delete"], "apps", "controllerrevisions"),
  ...rights(["list", "watch"], "", "nodes"),
  ...rights(["list", "watch"], "coordination.k8s.io", "leases").map((right) => ({
    ...right,
    namespace: leaseNamespace,
  })),
  ...rights(["create", "patch"], "", "events"),
];

function rights(verbs: string[], group: string, resource: string): Right[] {
  return verbs.map((verb) => ({ verb, group, resource }));
}
