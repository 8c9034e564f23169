import assert from "node:assert/strict";
import { test } from "node:test";
import { buildSetCRD } from "../../../src/api/install/install.ts";
import { setRules } from "../../../src/api/rules/rules.ts";
import { rules } from "../../../src/api/rules/rules.ts";
import { ncappset, setSpec } from "../../../src/api/schema/schema.ts";
import { checkSchema, validateNCAppSet, withDefaults } from "../../../src/api/validate/validate.ts";
import { badSetSpecs, goodSetSpecs, setSpecWith, setWith } from "../set-samples.ts";

// deno-lint-ignore no-explicit-any
const crd = (options = {}): any => buildSetCRD(options);

test("every good spec of a set is accepted", () => {
  for (const spec of goodSetSpecs) {
    assert.deepEqual(validateNCAppSet(setWith(spec)), [], JSON.stringify(spec));
  }
});

test("every bad spec of a set is rejected once, with the field", () => {
  for (const { spec, field, by } of badSetSpecs) {
    const errors = validateNCAppSet(setWith(spec));
    const what = `${JSON.stringify(spec)}: ${JSON.stringify(errors)}`;
    assert.deepEqual(errors.map((error) => error.field), [field], what);
    assert.equal(checkSchema(setSpec, spec, "spec").length > 0, by === "schema", what);
  }
});

test("a set that is not an object or of another kind is rejected", () => {
  assert.deepEqual(validateNCAppSet({ ...setWith(setSpecWith()), kind: "NCApp" }).map(({ field }) => field), [
    "kind",
  ]);
  for (const object of [null, 5, "x", []]) assert.equal(validateNCAppSet(object).length, 1);
});

test("defaults of a set are filled in, also below update, which may be absent", () => {
  const spec = withDefaults(setSpec, setSpecWith()) as {
    update: object;
    template: { spec: { pidsMax: number } };
  };
  assert.deepEqual(spec.update, {
    type: "RollingUpdate",
    maxUnavailable: 1,
    partition: 0,
    maxFailed: 1,
    onFailure: "Pause",
  });
  assert.equal(spec.template.spec.pidsMax, 4096);
});

test("the CRD of sets has the schema, columns, subresources and every rule", () => {
  const [version] = crd().spec.versions;
  const { spec } = crd({ legacy: true }).spec.versions[0].schema.openAPIV3Schema.properties;
  assert.deepEqual(spec, ncappset.properties.spec);
  assert.ok(!("nodeName" in spec.properties.template.properties.spec.properties));
  assert.deepEqual(
    // deno-lint-ignore no-explicit-any
    version.additionalPrinterColumns.filter((column: any) => !column.priority).map(({ name }: any) => name),
    ["Desired", "Updated", "Ready", "Completed", "Failed", "Revision", "Age"],
  );
  assert.deepEqual(Object.keys(version.subresources), ["status", "scale"]);
  const count = JSON.stringify(version).split('"rule":').length - 1;
  assert.equal(count, [...rules, ...setRules].filter(({ cel }) => cel).length);
});
