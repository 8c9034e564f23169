import assert from "node:assert/strict";
import { test } from "node:test";
import { createFolderValues, uniteHolders } from "../../src/sources/folder-values.ts";
import type { FolderHolder } from "../../src/sources/manifest-reading.ts";

const ref = { kind: "Secret", namespace: "default", name: "db" } as const;
const holder = (value: string): FolderHolder => ({
  key: "Secret default/db",
  holder: { ...ref, data: new Map([["password", new TextEncoder().encode(value)]]) },
});

test("of two files with the same Secret the first counts, and both are named", () => {
  const files = new Map([["/etc/a.yaml", [holder("one")]], ["/etc/b.yaml", [holder("two")]]]);
  const { holders, conflicts } = uniteHolders(files);
  assert.deepEqual(holders, [holder("one")]);
  assert.deepEqual(conflicts, [{
    message: "Secret default/db is defined in /etc/a.yaml and in /etc/b.yaml: the first one wins",
    origin: "/etc/b.yaml",
  }]);
});

test("what a folder has is unknown until it was read; then a Secret is found by kind, namespace and name", () => {
  const values = createFolderValues("/etc/manifests");
  assert.equal(values.find(ref), "unknown");
  values.replace([holder("one")]);
  assert.deepEqual(values.find(ref), holder("one"));
  for (const other of [{ kind: "ConfigMap" }, { namespace: "shop" }, { name: "web" }] as const) {
    assert.equal(values.find({ ...ref, ...other }), undefined);
  }
});
