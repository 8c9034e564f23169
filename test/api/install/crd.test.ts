import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { checkSchema } from "../../../src/api/validate/validate.ts";
import {
  buildCRD,
  buildPolicyCRD,
  buildSetCRD,
  findCRDGaps,
  installFiles,
  renderInstallFile,
  renderInstallManifests,
} from "../../../src/api/install/install.ts";
import { rules } from "../../../src/api/rules/rules.ts";
import { ncapp, type Schema } from "../../../src/api/schema/schema.ts";
import { generate } from "../../../tools/generate.ts";
import { tempFolder } from "../../temp-folder.ts";
import { badSpecs, goodSpecs } from "../samples.ts";

// deno-lint-ignore no-explicit-any
const crd = (options = {}): any => buildCRD(options);
const legacy = { legacy: true };

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
  const file = installFiles().find(({ path }) => path === "legacy/ncapp.yaml");
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
    ..."int-or-string list-type list-map-keys map-type preserve-unknown-fields".split(" ").map((name) =>
      `x-kubernetes-${name}`
    ),
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
  // deno-lint-ignore no-explicit-any
  for (const built of [crd(legacy), buildSetCRD(legacy) as any]) {
    walk(built.spec.versions[0].schema.openAPIV3Schema, "");
  }
});

test("the schema alone rejects the samples that it should", () => {
  const { spec } = ncapp.properties;
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
  assert.deepEqual(version.selectableFields, [
    { jsonPath: ".spec.nodeName" },
    { jsonPath: ".status.nodeName" },
  ]);
});

test("every CEL rule is in the CRD; the one for old servers has neither rules nor selectable fields", () => {
  const count = (options: object) =>
    JSON.stringify(crd(options).spec.versions[0]).split('"rule":').length - 1;
  assert.equal(count({}), rules.filter(({ cel }) => cel).length);
  assert.equal(count(legacy), 0);
  assert.doesNotMatch(JSON.stringify(crd(legacy)), /x-kubernetes-validations|selectableFields/);
});

test("every version is served with the same schema, v1alpha1 is stored, and kubectl apply has room for both", () => {
  for (const definition of [crd(), crd(legacy), buildSetCRD(), buildSetCRD(legacy), buildPolicyCRD()]) {
    const { spec } = definition as ReturnType<typeof crd>;
    const [alpha, beta, ...others] = spec.versions;
    assert.deepEqual([alpha.name, beta.name, others.length], ["v1alpha1", "v1beta1", 0]);
    assert.deepEqual({ ...beta, name: "v1alpha1", storage: true }, alpha);
    assert.deepEqual([alpha.served, alpha.storage, beta.served, beta.storage], [true, true, true, false]);
    // Client-side apply keeps the whole object in an annotation, of which an object may have 256 KiB.
    assert.ok(JSON.stringify(definition).length < 200_000);
  }
});

test("everything that is installed has the labels of the app, and no role for users writes NCApps by aggregation", () => {
  const installed = loadAll(renderInstallManifests({ image: "i", tenancy: true })) as {
    kind: string;
    metadata: { name: string; labels: Record<string, string> };
  }[];
  for (const { kind, metadata: { name, labels } } of installed) {
    assert.equal(labels["app.kubernetes.io/part-of"], "nckubelet", `${kind} ${name}`);
    assert.ok(labels["app.kubernetes.io/name"], `${kind} ${name}`);
  }
  const aggregated = installed.filter(({ metadata }) => /aggregate-to/.test(JSON.stringify(metadata.labels)));
  assert.deepEqual(aggregated.map(({ metadata }) => metadata.name), ["nckubelet-view"]);
});

test("crd/ itself has all that a current server needs, crd/legacy what an old one accepts", () => {
  const kindsOf = (documents: unknown[]) =>
    new Set(documents.map((document) => (document as { kind: string }).kind));
  const kindsIn = (folder: string) =>
    kindsOf(
      installFiles().filter(({ path }) => dirname(path) === folder).flatMap(({ documents }) => documents),
    );
  const printed = (minor: number) => kindsOf(loadAll(renderInstallManifests({ minor })));
  assert.deepEqual(kindsIn("."), printed(31));
  assert.deepEqual(kindsIn("legacy"), printed(30));
});

test("findCRDGaps() names what an older CRD lacks, and accepts a newer one", () => {
  assert.deepEqual(findCRDGaps(crd()), { unknown: [], selectable: true });
  assert.deepEqual(findCRDGaps(crd(legacy)), { unknown: [], selectable: false });
  const other = crd();
  const { spec, status } = other.spec.versions[0].schema.openAPIV3Schema.properties;
  other.spec.versions[0].schema.openAPIV3Schema = {
    properties: {
      spec: {
        properties: {
          ...spec.properties,
          newer: { type: "string" },
          pidsMax: undefined,
          env: { ...spec.properties.env, items: { properties: { name: {}, value: {} } } },
        },
      },
      status: {
        properties: { ...status.properties, phase: { enum: ["Pending", "Running"] }, nodeName: undefined },
      },
    },
  };
  const { unknown } = findCRDGaps(other);
  const phases = status.properties.phase.enum.filter((phase: string) =>
    !["Pending", "Running"].includes(phase)
  );
  assert.deepEqual(
    unknown.sort(),
    [
      ...phases.map((phase: string) => `status.phase: ${phase}`),
      "spec.env[].valueFrom",
      "spec.pidsMax",
      "status.nodeName",
    ].sort(),
  );
  const loose = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  other.spec.versions[0].schema.openAPIV3Schema = { properties: { spec: loose, status: loose } };
  assert.deepEqual(findCRDGaps(other), { unknown: [], selectable: true });
  assert.deepEqual(findCRDGaps({}), { unknown: ["spec", "status"], selectable: false });
});

test("RBAC grants no Secrets, no ConfigMaps of others, no approvals, no wildcard, and no NCApp writes to agents without the policy", () => {
  // deno-lint-ignore no-explicit-any
  const all = installFiles().find(({ path }) => path === "legacy/rbac.yaml")!.documents as any[];
  const bound = all.filter(({ kind }) => kind.endsWith("Binding")).map(({ roleRef }) =>
    `${roleRef.kind}/${roleRef.name}`
  );
  assert.ok(!bound.includes("ClusterRole/nckubelet-mirror"));
  for (const { kind, metadata, rules = [] } of all) {
    assert.ok(!JSON.stringify(rules).includes("*"), metadata.name);
    if (!bound.includes(`${kind}/${metadata.name}`)) continue;
    for (const { resources, verbs, resourceNames } of rules) {
      assert.ok(!resources.includes("secrets"), metadata.name);
      assert.ok(!verbs.some((verb: string) => /^(approve|escalate|bind)$/.test(verb)), metadata.name);
      if (resources.includes("configmaps") && metadata.name !== "nckubelet-identities") {
        // Only the authority of client certificates, which is public.
        assert.deepEqual(
          { kind, namespace: metadata.namespace, resources, verbs, resourceNames },
          {
            kind: "Role",
            namespace: "kube-system",
            resources: ["configmaps"],
            verbs: ["get"],
            resourceNames: ["extension-apiserver-authentication"],
          },
        );
      }
      if (resources.includes("configmaps") && metadata.name === "nckubelet-identities") {
        assert.deepEqual([kind, metadata.namespace], ["Role", "nckubelet-agents"]);
      }
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
  assert.deepEqual(kinds({}), kinds({ minor: 31 }));
  assert.ok(!kinds({ minor: 31 }).has("Deployment"));
  assert.ok(renderInstallManifests({ image: "example.com/nck:1" }).includes("image: example.com/nck:1"));
});
