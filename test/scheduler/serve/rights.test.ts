import assert from "node:assert/strict";
import { test } from "node:test";
import { electionLease } from "../../../src/api/names.ts";
import { buildRBAC } from "../../../src/api/install/rbac.ts";
import type { Right } from "../../../src/kube/access-review.ts";
import { missingRights, schedulerRights } from "../../../src/scheduler/serve/rights.ts";
import { json, withClient } from "../../kube/fake-server.ts";

interface Role {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const roles = (buildRBAC() as Role[]).filter(({ metadata }) => metadata.name === "nckubelet-scheduler");

function isGranted({ verb, group, resource, subresource, namespace, name }: Right): boolean {
  const full = subresource ? `${resource}/${subresource}` : resource;
  return roles.some(({ kind, metadata, rules = [] }) =>
    (kind === "ClusterRole" || metadata.namespace === namespace) &&
    rules.some(({ apiGroups, resources, verbs, resourceNames }) =>
      apiGroups.includes(group) && resources.includes(full) && verbs.includes(verb) &&
      (resourceNames === undefined || name !== undefined && resourceNames.includes(name))
    )
  );
}

test("the installed roles grant exactly the permissions that a scheduler needs", () => {
  for (const right of schedulerRights()) assert.ok(isGranted(right), JSON.stringify(right));
});

test("the permissions include reading an app, which follows a bind without an answer", () => {
  const verbs = schedulerRights().filter(({ resource, subresource }) =>
    resource === "ncapps" && !subresource
  );
  assert.deepEqual(verbs.map(({ verb }) => verb), ["get", "list", "watch", "patch"]);
});

test("schedulers of another name elect their leader with another Lease", () => {
  const leaseOf = (name?: string) => schedulerRights(name).find(({ verb }) => verb === "update")?.name;
  assert.deepEqual([leaseOf(), leaseOf("batch")], ["nc-scheduler", "nc-scheduler-batch"]);
  assert.equal(electionLease("nc-scheduler"), "nc-scheduler");
});

test("missing permissions are listed by verb", async () => {
  await withClient((request, response) => {
    const { spec } = JSON.parse(request.body) as { spec: { resourceAttributes: Right } };
    const { resource, verb, namespace } = spec.resourceAttributes;
    const allowed = resource !== "nodes" && !(resource === "ncapps" && verb === "patch") &&
      namespace !== "nckubelet";
    json(response, { kind: "SelfSubjectAccessReview", status: { allowed } });
  }, async (client) => {
    assert.deepEqual(await missingRights(client), [
      "patch ncapps",
      "patch ncapps/status",
      "list/watch nodes",
      "create/get/update leases in nckubelet",
    ]);
  });
});
