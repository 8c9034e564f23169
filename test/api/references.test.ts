import assert from "node:assert/strict";
import { test } from "node:test";
import { hasReferences, referencesOf } from "../../src/api/references.ts";
import { type Schema, spec } from "../../src/api/schema/schema.ts";

/** A spec with one field that names a Secret or a ConfigMap, for each such field of the schema. */
function referringSpecs(schema: Schema, kind?: string): { kind: string; value: unknown }[] {
  if (schema.items) {
    return referringSpecs(schema.items, kind).map(({ kind, value }) => ({ kind, value: [value] }));
  }
  return Object.entries(schema.properties ?? {}).flatMap(([field, inner]) => {
    const [, word = kind] = /(secret|configmap)/i.exec(field) ?? [];
    const isName = word !== undefined && inner.type === "string" && /name|secret|configmap/i.test(field);
    const found = isName
      ? [{ kind: word.toLowerCase(), value: "found" as unknown }]
      : referringSpecs(inner, word);
    return found.map(({ kind, value }) => ({ kind, value: { [field]: value } as unknown }));
  });
}

test("referencesOf() covers every field of the schema that names a Secret or a ConfigMap", () => {
  const specs = referringSpecs(spec);
  assert.deepEqual(new Set(specs.map(({ kind }) => kind)), new Set(["secret", "configmap"]));
  for (const { kind, value } of specs) {
    const { secrets, configMaps } = referencesOf(value as object);
    const expected = kind === "secret" ? [["found"], []] : [[], ["found"]];
    assert.deepEqual([secrets, configMaps], expected, JSON.stringify(value));
  }
});

test("referencesOf() names each one once, in order", () => {
  const from = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
  const env = [{ name: "A", ...from("b", "x") }, { name: "B", ...from("a", "x") }, {
    name: "C",
    ...from("b", "y"),
  }];
  assert.deepEqual(referencesOf({ env }), { secrets: ["a", "b"], configMaps: [] });
  assert.deepEqual([hasReferences({ env }), hasReferences({ env: [{ name: "A", value: "1" }] })], [
    true,
    false,
  ]);
});
