import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { checkSchema } from "../../../src/api/validate/check-schema.ts";
import { buildCRD } from "../../../src/api/install/crd.ts";
import { installFiles, renderInstallFile, renderInstallManifests } from "../../../src/api/install/install.ts";
import { rules } from "../../../src/api/rules/rules.ts";
import type { Schema } from "../../../src/api/schema/schema-type.ts";
import { ncapp } from "../../../src/api/schema/schema.ts";
import { generate } from "../../../tools/generate.ts";
import { tempFolder } from "../../temp-folder.ts";
import { badSpecs, goodSpecs } from "../samples.ts";

// deno-lint-ignore no-explicit-any
const crd = (features = {}): any => buildCRD(features);
const schemaOf = (features = {}): Schema => crd(features).spec.versions[0].schema.openAPIV3Schema;

test("the files in crd/ are up to date", async () => {
  const lines: string[] = [];
  assert.equal(await generate({ check: true, say: (line) => lines.push(line) }), 0, lines.join("\n"));
});

test("generate --check reports stale files and writes nothing; generate updates them", async (t) => {
  const dir = tempFolder(t).path;
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  assert.equal(await generate({ check: true, dir, say }), 1);
  assert.deepEqual(await readdir(dir), []);
  assert.equal(await generate({ check: false, dir, say }), 0);
  assert.equal(await generate({ check: true, dir, say }), 0);
  const path = join(dir, "ncapp.yaml");
  await writeFile(path, (await readFile(path, "utf8")).replace("maxItems: 4096", "maxItems: 4095"));
  await writeFile(join(dir, "old.yaml"), "");
  said.length = 0;
  assert.equal(await generate({ check: true, dir, say }), 1);
  assert.match(
    said[0]!,
    /crd\/ncapp\.yaml is not up to date:\n@@ line \d+ @@[^]*- +maxItems: 4095[^]*\+ +maxItems: 4096/,
  );
  assert.match(said[1]!, /crd\/old\.yaml is not made by the generator/);
});

test("the CRD has exactly the schema of the validator", () => {
  const [file] = installFiles();
  const [read] = loadAll(renderInstallFile(file!)) as [ReturnType<typeof crd>];
  const schema = read.spec.versions[0].schema.openAPIV3Schema;
  assert.deepEqual(schema.properties.spec, JSON.parse(JSON.stringify(ncapp.properties.spec)));
  assert.deepEqual(schema.properties.status, JSON.parse(JSON.stringify(ncapp.properties.status)));
});

test("the schema is structural and fully described, and the validator implements all of it", () => {
  const understood = new Set([
    ..."description type format enum default pattern minLength maxLength minimum exclusiveMinimum maximum"
      .split(" "),
    ..."items minItems maxItems properties required additionalProperties maxProperties".split(" "),
    ..."int-or-string list-type list-map-keys map-type".split(" ").map((name) => `x-kubernetes-${name}`),
  ]);
  const walk = (schema: Schema, path: string): void => {
    for (const word of Object.keys(schema)) assert.ok(understood.has(word), `${path} says ${word}`);
    // kubectl explain 1.20 takes a percent sign for a format.
    assert.ok(!schema.description?.includes("%"), `${path} has a percent sign in its description`);
    const untyped = schema["x-kubernetes-int-or-string"] === true;
    assert.equal(schema.type === undefined, untyped, `${path} must have a type unless it is int-or-string`);
    assert.ok(!schema.properties || !schema.additionalProperties, `${path} has both kinds of properties`);
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (path !== "" && !/httpHeaders|preferred/.test(path)) {
        assert.ok(field.description, `${path}.${name} has no description`);
      }
      walk(field, `${path}.${name}`);
    }
    if (schema.items) walk(schema.items, `${path}[]`);
    if (schema.additionalProperties) walk(schema.additionalProperties, `${path}{}`);
    if (schema.default !== undefined) assert.deepEqual(checkSchema(schema, schema.default, path), []);
    for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
      const item = schema.items!;
      assert.ok(
        item.required?.includes(key) || item.properties?.[key]?.default !== undefined,
        `${path}: key ${key}`,
      );
    }
  };
  walk(schemaOf(), "");
});

test("the schema alone rejects the samples that it should", () => {
  const spec = schemaOf().properties!.spec!;
  for (const good of goodSpecs) assert.deepEqual(checkSchema(spec, good, "spec"), []);
  for (const { spec: bad, by } of badSpecs) {
    assert.equal(checkSchema(spec, bad, "spec").length > 0, by === "schema", JSON.stringify(bad));
  }
});

test("the CRD has the documented columns, names and subresources", () => {
  const { spec } = crd();
  const [version] = spec.versions;
  // deno-lint-ignore no-explicit-any
  const columns = version.additionalPrinterColumns.filter(({ priority }: any) => !priority);
  assert.deepEqual(
    // deno-lint-ignore no-explicit-any
    columns.map(({ name }: any) => name.toUpperCase()),
    ["NODE", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "AGE"],
  );
  assert.deepEqual(spec.names.shortNames, ["nca"]);
  assert.deepEqual(spec.names.categories, ["all"]);
  assert.deepEqual(version.subresources, { status: {} });
  assert.equal("selectableFields" in version, false);
  assert.deepEqual(crd({ selectableFields: true }).spec.versions[0].selectableFields, [{
    jsonPath: ".spec.nodeName",
  }]);
});

test("every CEL rule is in the CRD for newer servers, none in the CRD for all servers", () => {
  const count = (features: object) => JSON.stringify(crd(features)).split('"rule":').length - 1;
  assert.equal(count({ cel: true }), rules.filter(({ cel }) => cel).length);
  assert.equal(count({}), 0);
  assert.ok(!JSON.stringify(crd()).includes("x-kubernetes-validations"));
});

test("RBAC grants no Secrets in the cluster, no wildcard, and no NCApp writes to agents without the policy", () => {
  const documents = installFiles().filter(({ path }) => !path.includes("/")).flatMap(({ documents }) =>
    documents
  );
  // deno-lint-ignore no-explicit-any
  const all = documents as any[];
  const bound = all.filter(({ kind }) => kind.endsWith("Binding")).map(({ roleRef }) =>
    `${roleRef.kind}/${roleRef.name}`
  );
  assert.ok(
    !bound.includes("ClusterRole/nckubelet-env-reader") && !bound.includes("ClusterRole/nckubelet-mirror"),
  );
  for (const { kind, metadata, rules = [] } of all) {
    assert.ok(!JSON.stringify(rules).includes("*"), metadata.name);
    if (!bound.includes(`${kind}/${metadata.name}`)) continue;
    for (const { resources, verbs } of rules) {
      assert.ok(!resources.includes("secrets") && !resources.includes("configmaps"), metadata.name);
      if (metadata.name === "nckubelet-agent" && resources.includes("ncapps")) {
        assert.deepEqual(verbs, ["get", "list", "watch"]);
      }
    }
  }
});

test("renderInstallManifests() returns what the server accepts", () => {
  const kinds = (options: object) =>
    // deno-lint-ignore no-explicit-any
    new Set((loadAll(renderInstallManifests(options)) as any[]).map(({ kind }) => kind));
  assert.ok(!kinds({ minor: 20 }).has("ValidatingAdmissionPolicy"));
  assert.ok(!renderInstallManifests({ minor: 30 }).includes("selectableFields"));
  assert.ok(renderInstallManifests({ minor: 31 }).includes("selectableFields"));
  assert.ok(kinds({ minor: 31 }).has("ValidatingAdmissionPolicy"));
  assert.ok(!kinds({ minor: 31 }).has("Deployment"));
  assert.ok(renderInstallManifests({ image: "example.com/nck:1" }).includes("image: example.com/nck:1"));
});
