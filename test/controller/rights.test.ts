import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSchedulerName } from "../../src/api/names.ts";
import { buildRBAC } from "../../src/api/install/install.ts";
import { controllerNames, createControllers, rightsOf } from "../../src/controller/controller.ts";
import { missingRights, type Right } from "../../src/kube/access-review.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { json, withClient } from "../kube/fake-server.ts";

interface Role {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const roleNames = ["nckubelet-scheduler", "nckubelet-sets"];
const roles = (buildRBAC() as Role[]).filter(({ metadata }) => roleNames.includes(metadata.name));

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

async function rights(schedulerName = defaultSchedulerName): Promise<Right[]> {
  const settings = { log: silentLogger, identity: "test", schedulerName, policy: "spread" } as const;
  // Nothing asks the API server before the controllers run.
  return rightsOf(await createControllers(controllerNames, { ...settings, client: {} as KubeClient }));
}

test("the installed roles grant the permissions that the controllers need", async () => {
  for (const right of await rights()) assert.ok(isGranted(right), JSON.stringify(right));
});

test("the installed roles grant nothing else, but for finalizers of sets and reviews of those who ask", async () => {
  const paths = (await rights()).map(({ group, resource, subresource }) =>
    [group, resource, ...(subresource ? [subresource] : [])].join("/")
  );
  const granted = roles.flatMap(({ rules = [] }) => rules).flatMap(({ apiGroups: [group], resources }) =>
    resources.map((name) => `${group}/${name}`)
  );
  assert.deepEqual([...new Set(granted)].filter((path) => !paths.includes(path)), [
    "authentication.k8s.io/tokenreviews",
    "authorization.k8s.io/subjectaccessreviews",
    "app.example.com/ncappsets/finalizers",
  ]);
});

test("the permissions include reading an app, which follows a bind without an answer", async () => {
  const verbs = (await rights()).filter(({ resource, subresource }) => resource === "ncapps" && !subresource);
  for (const verb of ["get", "list", "watch", "patch"]) assert.ok(verbs.some((right) => right.verb === verb));
});

test("schedulers of another name elect their leader with another Lease", async () => {
  const leaseOf = async (name?: string) => (await rights(name)).find(({ verb }) => verb === "update")?.name;
  assert.deepEqual([await leaseOf(), await leaseOf("batch")], ["nc-scheduler", "nc-scheduler-batch"]);
});

test("missing permissions are listed by verb", async () => {
  await withClient((request, response) => {
    const { spec } = JSON.parse(request.body) as { spec: { resourceAttributes: Right } };
    const { resource, verb, namespace } = spec.resourceAttributes;
    const allowed = resource !== "nodes" && !(resource === "ncapps" && verb === "patch") &&
      namespace !== "nckubelet";
    json(response, { kind: "SelfSubjectAccessReview", status: { allowed } });
  }, async (client) => {
    const missing = await missingRights(client, await rights());
    for (
      const expected of [
        "patch ncapps",
        "patch ncapps/status",
        "list/watch nodes",
        "create/get/update leases in nckubelet",
      ]
    ) assert.ok(missing.includes(expected), missing.join(", "));
  });
});
