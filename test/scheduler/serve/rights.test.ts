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

test("the rights that a scheduler asks for are those that its installed roles grant", () => {
  for (const right of schedulerRights()) assert.ok(isGranted(right), JSON.stringify(right));
});

test("a scheduler asks whether it may read an app, which it does after a bind without an answer", () => {
  const verbs = schedulerRights().filter(({ resource, subresource }) =>
    resource === "ncapps" && !subresource
  );
  assert.deepEqual(verbs.map(({ verb }) => verb), ["get", "list", "watch", "patch"]);
});

test("schedulers of another name elect their leader by another Lease", () => {
  const leaseOf = (name?: string) => schedulerRights(name).find(({ verb }) => verb === "update")?.name;
  assert.deepEqual([leaseOf(), leaseOf("batch")], ["nc-scheduler", "nc-scheduler-batch"]);
  assert.equal(electionLease("nc-scheduler"), "nc-scheduler");
});

test("what the API server does not allow is named, verb by verb", async () => {
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
