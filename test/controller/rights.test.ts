import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSchedulerName } from "../../src/api/names.ts";
import { controllerNames, createControllers, rightsOf } from "../../src/controller/controller.ts";
import { missingRights, type Right } from "../../src/kube/access-review.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { json, withClient } from "../kube/fake-server.ts";

async function rights(schedulerName = defaultSchedulerName): Promise<Right[]> {
  const settings = { log: silentLogger, identity: "test", schedulerName, policy: "spread" } as const;
  // Nothing asks the API server before the controllers run.
  return rightsOf(await createControllers(controllerNames, { ...settings, client: {} as KubeClient }));
}

test("the permissions include reading an app, which follows a bind without an answer", async () => {
  const verbs = (await rights()).filter(({ resource, subresource }) => resource === "ncapps" && !subresource);
  for (const verb of ["get", "list", "watch", "patch"]) assert.ok(verbs.some((right) => right.verb === verb));
});

test("schedulers of another name elect their leader with another Lease", async () => {
  const leaseOf = async (schedulerName?: string) =>
    (await rights(schedulerName)).find(({ verb, name }) => verb === "update" && name)?.name;
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
        "get/list/watch nodes",
        "create/get/update leases in nckubelet",
      ]
    ) assert.ok(missing.includes(expected), missing.join(", "));
  });
});
