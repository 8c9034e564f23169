import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNodeLabels, parseTaints } from "../../src/api/node-labels.ts";

test("parseNodeLabels() takes what a kubelet may set, and names the label that a node may not choose", () => {
  assert.deepEqual(
    parseNodeLabels(
      "zone=a, example.com/rack=7,topology.kubernetes.io/zone=z,node.kubernetes.io/instance-type=,",
    ),
    {
      zone: "a",
      "example.com/rack": "7",
      "topology.kubernetes.io/zone": "z",
      "node.kubernetes.io/instance-type": "",
    },
  );
  assert.deepEqual(parseNodeLabels(""), {});
  const bad: [string, RegExp][] = [
    ["zone", /^"zone": use KEY=VALUE$/],
    ["a b=c", /"a b=c": the key must be a qualified name/],
    ["a=b c", /the value must be letters/],
    ["a=b=c", /the value must be letters/],
    [`a=${"b".repeat(64)}`, /at most 63/],
    ["kubernetes.io/hostname=x", /the agent sets this label itself/],
    ["app.example.com/nckubelet=false", /the agent sets this label itself/],
    ["node-role.kubernetes.io/control-plane=", /a node may not choose labels of node-role\.kubernetes\.io/],
    ["node-restriction.kubernetes.io/team=x", /a node may not choose labels/],
    ["topology.kubernetes.io/zones=x", /a node may not choose labels/],
    ["x.k8s.io/y=", /a node may not choose labels of x\.k8s\.io/],
    ["app.example.com/other=", /a node may not choose labels of app\.example\.com/],
  ];
  for (const [text, why] of bad) assert.throws(() => parseNodeLabels(text), { message: why }, text);
});

test("parseTaints() takes kubectl's form, and names the taint that it cannot use", () => {
  assert.deepEqual(parseTaints("dedicated=lab:NoSchedule, slow:PreferNoSchedule,x=:NoExecute"), [
    { key: "dedicated", value: "lab", effect: "NoSchedule" },
    { key: "slow", effect: "PreferNoSchedule" },
    { key: "x", effect: "NoExecute" },
  ]);
  assert.deepEqual(parseTaints(""), []);
  const bad: [string, RegExp][] = [
    ["dedicated", /^"dedicated": use KEY=VALUE:EFFECT/],
    ["a=b:Never", /with the effect NoSchedule, PreferNoSchedule or NoExecute/],
    ["a b=c:NoSchedule", /the key must be a qualified name/],
    ["app.example.com/nckubelet:NoSchedule", /the agent sets this taint itself/],
  ];
  for (const [text, why] of bad) assert.throws(() => parseTaints(text), { message: why }, text);
});
