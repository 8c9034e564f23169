/** The permissions that a scheduler needs, apart from its Lease. A test compares them with the installed RBAC rules. */
import { group, leaseNamespace, plural } from "../api/names.ts";
import { type Right, rightsTo } from "../kube/access-review.ts";

const follow = ["list", "watch"];

export const schedulerRights: readonly Right[] = [
  ...rightsTo(["get", ...follow, "patch"], group, plural),
  ...rightsTo(["patch"], group, `${plural}/status`),
  ...rightsTo(follow, "", "nodes"),
  ...rightsTo(follow, "coordination.k8s.io", "leases", leaseNamespace),
  ...rightsTo(follow, "scheduling.k8s.io", "priorityclasses"),
  ...rightsTo(follow, "", "limitranges"),
  ...rightsTo(follow, "", "resourcequotas"),
  ...rightsTo(["patch"], "", "resourcequotas/status"),
  ...rightsTo(["create", "patch"], "", "events"),
];
