/** The permissions that a process with these controllers needs. */
import { controllerRules, nodeLeaseRules, type Rule } from "../api/controller-rules.ts";
import { identitiesLease, leaseNamespace, schedulerLease, setsLease, systemNamespace } from "../api/names.ts";
import { missingRights, type Right } from "../kube/access-review.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log.ts";
import type { ControllerName } from "./controllers.ts";
import type { Elected } from "./elect.ts";

/** The Leases that the installed roles name. */
const installedLeases = [schedulerLease, setsLease, identitiesLease];

export function rightsOf(elected: readonly Elected[]): Right[] {
  const leases = { group: "coordination.k8s.io", resource: "leases", namespace: systemNamespace };
  return [
    ...elected.flatMap(({ controller }) => rightsIn(controllerRules[controller.name as ControllerName])),
    ...rightsIn(nodeLeaseRules, leaseNamespace),
    { verb: "create", ...leases },
    ...elected.flatMap(({ lease: name }) => ["get", "update"].map((verb) => ({ verb, ...leases, name }))),
  ];
}

function rightsIn(rules: readonly Rule[], namespace?: string): Right[] {
  // Without budgets a controller works; roles that were installed for an earlier version do not have them.
  const required = rules.filter(({ resources }) => !resources.includes("poddisruptionbudgets"));
  return required.flatMap(({ apiGroups: [group = ""], resources, verbs }) =>
    resources.flatMap((path) => {
      const [resource = "", subresource] = path.split("/");
      return verbs.map((verb) => ({ verb, group, resource, subresource, namespace }));
    })
  );
}

/** Without a role of its own, a scheduler of another name never leads. */
export async function warnOfMissingRights(
  elected: readonly Elected[],
  { client, log, schedulerName }: { client: KubeClient; log: Logger; schedulerName: string },
  signal: AbortSignal,
): Promise<void> {
  const own = elected.find(({ lease }) => !installedLeases.includes(lease));
  if (!own) return;
  try {
    const missing = await missingRights(client, rightsOf([own]), signal);
    if (missing.length === 0) return;
    log.warn(
      `--scheduler-name ${schedulerName}: the API server does not let this user ${missing.join(", ")}: ` +
        `its leader's Lease is ${own.lease}, which needs a role (docs/scheduler.md)`,
    );
  } catch (error) {
    if (!signal.aborted) log.debug("cannot check the permissions of this scheduler", { error });
  }
}
