/** The permissions that the sets controller needs. A test compares them with the installed RBAC rules. */
import { group, leaseNamespace, plural, setPlural } from "../api/names.ts";
import { type Right, rightsTo } from "../kube/access-review.ts";

const read = ["get", "list", "watch"];

export const setsRights: readonly Right[] = [
  ...rightsTo(read, group, setPlural),
  ...rightsTo(["patch"], group, `${setPlural}/status`),
  ...rightsTo([...read, "create", "patch", "delete"], group, plural),
  ...rightsTo([...read, "create", "patch", "delete"], "apps", "controllerrevisions"),
  ...rightsTo(["list", "watch"], "", "nodes"),
  ...rightsTo(["list", "watch"], "coordination.k8s.io", "leases", leaseNamespace),
  ...rightsTo(["create", "patch"], "", "events"),
];
