import assert from "node:assert/strict";
import { test } from "node:test";
import { buildRBAC } from "../../src/api/install/rbac.ts";
import { setsRights } from "../../src/sets/rights.ts";

interface Role {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

test("the installed roles grant the sets controller exactly what it asks for, and its finalizers", () => {
  const roles = (buildRBAC() as Role[]).filter(({ rules }) => rules);
  const own = roles.find(({ metadata }) => metadata.name === "nckubelet-sets")!.rules!;
  const leases = roles.find(({ kind, metadata }) =>
    kind === "Role" && metadata.name === "nckubelet-scheduler" && metadata.namespace === "kube-node-lease"
  )!.rules!;
  const grants = ({ verb, group, resource, subresource, namespace }: typeof setsRights[number]) =>
    (namespace ? leases : own).some(({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) &&
      resources.includes(subresource ? `${resource}/${subresource}` : resource) &&
      verbs.includes(verb)
    );
  for (const right of setsRights) assert.ok(grants(right), JSON.stringify(right));
  const needed = new Set(
    setsRights.map(({ group, resource, subresource }) =>
      `${group}/${resource}${subresource ? `/${subresource}` : ""}`
    ),
  );
  const extra = own.flatMap(({ apiGroups: [group], resources }) =>
    resources.map((name) => `${group}/${name}`)
  )
    .filter((name) => !needed.has(name));
  assert.deepEqual(extra, ["app.example.com/ncappsets/finalizers"]);
});
