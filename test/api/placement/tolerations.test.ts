import assert from "node:assert/strict";
import { test } from "node:test";
import type { Toleration } from "../../../src/api/types.ts";
import { tolerates, tolerationMs } from "../../../src/api/placement/placement.ts";

const taint = { key: "dedicated", value: "batch", effect: "NoSchedule" };

test("tolerates() matches key, value and effect as Kubernetes does", () => {
  const cases: [boolean, Toleration][] = [
    [true, { key: "dedicated", operator: "Equal", value: "batch", effect: "NoSchedule" }],
    [true, { key: "dedicated", value: "batch" }],
    [true, { key: "dedicated", operator: "Exists" }],
    [true, { operator: "Exists" }],
    [false, { key: "dedicated", value: "web" }],
    [false, { key: "dedicated" }],
    [false, { key: "dedicated", operator: "Exists", effect: "NoExecute" }],
    [false, { key: "other", operator: "Exists" }],
    [false, { operator: "Equal" }],
  ];
  for (const [expected, given] of cases) {
    assert.equal(tolerates([given], taint), expected, JSON.stringify(given));
  }
  assert.equal(tolerates([], taint), false);
});

test("every app tolerates the taint that agents put on their own Nodes", () => {
  assert.equal(tolerates([], { key: "app.example.com/nckubelet", effect: "NoSchedule" }), true);
  assert.equal(tolerates([], { key: "app.example.com/nckubelet", effect: "NoExecute" }), false);
});

test("tolerationMs() returns the least of the matching tolerations", () => {
  const lost = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }];
  const seconds = (tolerationSeconds?: number): Toleration => ({
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  assert.equal(tolerationMs([], lost), undefined);
  assert.equal(tolerationMs([{ key: "other", operator: "Exists" }], lost), undefined);
  assert.equal(tolerationMs([seconds()], lost), Infinity);
  assert.equal(tolerationMs([seconds(60), seconds(), seconds(30)], lost), 30_000);
  assert.equal(tolerationMs([seconds(-5)], lost), 0);
});
