import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldLines } from "../../../src/api/manifest/field-lines.ts";
import { formatProblem, parseManifests } from "../../../src/api/manifest/manifest.ts";

const text = `# a comment
kind: List
items:
  - metadata: {name: a,
      labels: {tier: x}}
    spec:
      env:
        - name: PORT
          value: 8080
        - {name: B,
           value: 1}
      args: ["-v",
        7]
  - spec: &same
      "cpuPCT": 200
      text: |
        spec:
          env: no field
      memPCT: 0
  - spec: *same
`;

test("fields have their lines: in objects, lists, flow style, with quoted keys and after block scalars", () => {
  const line = fieldLines(text);
  const expected = {
    kind: 2,
    "items[0].metadata.name": 4,
    "items[0].metadata.labels.tier": 5,
    "items[0].spec.env[0].value": 9,
    "items[0].spec.env[1].value": 11,
    "items[0].spec.args[1]": 13,
    "items[1].spec.cpuPCT": 15,
    "items[1].spec.memPCT": 19,
  };
  const found = Object.keys(expected).map((path) => [path, line(path)]);
  assert.deepEqual(Object.fromEntries(found), expected);
});

test("a field that is not written has the line of what is around it", () => {
  const line = fieldLines(text);
  assert.equal(line("items[0].spec.env[0].valueFrom.secretKeyRef"), 8);
  assert.equal(line("items[0].metadata.labels[tier]"), 5);
  assert.equal(line("items[2].spec.cpuPCT"), 20);
  assert.equal(line("nothing"), 2);
  assert.equal(line(""), 2);
  assert.equal(line('items[0].spec["a b"].c'), 6);
});

test("a text that is not YAML has one line, and no path takes long", () => {
  assert.equal(fieldLines("a: [")("a.b.c[1].d"), 1);
  assert.equal(fieldLines("a: 1")(".".repeat(1000)), 1);
});

test("problems of a List and of later documents have the line of the field", () => {
  const app = (spec: string) =>
    `apiVersion: app.example.com/v1alpha1
kind: NCApp
metadata: {name: web}
spec:
  shellFile: /opt/web.sh
  ${spec}
`;
  const indented = app("cpuPCT: 200").replaceAll("\n", "\n    ");
  const list = `kind: List\napiVersion: v1\nitems:\n  - ${indented}`;
  const lines = (text: string) => parseManifests(text, "f.yaml").problems.map(formatProblem);
  assert.match(lines(list)[0]!, /^f\.yaml:9: default\/web: spec\.cpuPCT/);
  assert.match(
    lines(`---\n# first\n---\n${app("env: [{name: PORT, value: 8080}]")}`)[0]!,
    /^f\.yaml:9: .*quote it$/,
  );
  const json = JSON.stringify({ kind: "NCApp", spec: { cpuPCT: 200 }, metadata: { name: "a" } }, null, 2);
  assert.match(
    lines(json.replace("{", '{\n  "apiVersion": "app.example.com/v1alpha1",'))[0]!,
    /^f\.yaml:5: /,
  );
});
