import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { formatProblem, parseManifests } from "../../../src/api/manifest/manifest.ts";

const parse = (text: string) => parseManifests(text, "m.yaml", { takeHolders: true });
const problemsOf = (text: string) => parse(text).problems.map(formatProblem);

test("Secrets and ConfigMaps become bytes by key", () => {
  const { holders, problems } = parse(`
apiVersion: v1
kind: Secret
metadata: {name: db}
type: Opaque
data: {password: aHVudGVyMg==, bytes: //4=}
stringData: {user: app, password: other}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: site, namespace: shop}
data: {region: north}
binaryData: {blob: AAE=}
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    holders.map(({ holder: { data, ...names } }) => ({ ...names, ...Object.fromEntries(data) })),
    [{
      kind: "Secret",
      namespace: "default",
      name: "db",
      password: Buffer.from("other"),
      bytes: Buffer.from([255, 254]),
      user: Buffer.from("app"),
    }, {
      kind: "ConfigMap",
      namespace: "shop",
      name: "site",
      blob: Buffer.from([0, 1]),
      region: Buffer.from("north"),
    }],
  );
});

test("a mistake in a Secret is named with line and key, never with its value", () => {
  const secret = (fields: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n${fields}\n`;
  const named = (fields: string) => problemsOf(secret(fields));
  assert.deepEqual(named("data: {password: 'hunter 2!'}"), [
    "m.yaml:4: Secret default/db: data.password: must be base64; stringData takes plain text",
  ]);
  assert.deepEqual(named("stringData: {pin: 1234}"), [
    "m.yaml:4: Secret default/db: stringData.pin: must be a string: quote it",
  ]);
  assert.deepEqual(named("stringdata: {pin: hunter2}"), [
    'm.yaml:4: Secret default/db: stringdata: Unknown field: did you mean "stringData"?',
  ]);
  assert.deepEqual(named("stringData: [hunter2]"), [
    "m.yaml:4: Secret default/db: stringData: must be a map of keys and values",
  ]);
  assert.deepEqual(named("stringData: {'a b': hunter2}"), [
    `m.yaml:4: Secret default/db: stringData: the key "a b" must be letters, digits, '-', '_' and '.'`,
  ]);
  assert.match(
    problemsOf("apiVersion: v1\nkind: Secret\nmetadata: {name: A_b}\n")[0] ?? "",
    /Secret: metadata.name: Invalid value: "A_b"/,
  );
  assert.match(named(`---\n${secret("")}`)[0] ?? "", /Secret default\/db: is already defined at line 1/);
});

test("without takeHolders a Secret is skipped, and the message says where it works", () => {
  const { skipped, holders } = parseManifests(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n",
    "m.yaml",
  );
  assert.equal(holders.length, 0);
  assert.match(
    skipped[0]?.message ?? "",
    /Secret "db" is not stored by this node: put it into the folder of --manifests/,
  );
});
