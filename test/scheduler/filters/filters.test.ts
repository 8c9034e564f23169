/** Node selectors, affinity and tolerations, as for Pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeSelectorRequirement, Toleration } from "../../../src/api/types.ts";
import { matchesAny, matchesTerm } from "../../../src/scheduler/node-selector.ts";
import { tolerates, tolerationMs } from "../../../src/scheduler/tolerations.ts";

const labels = { zone: "a", rank: "10", empty: "" };

const holds = (key: string, operator: NodeSelectorRequirement["operator"], values?: string[]) =>
  matchesTerm({ matchExpressions: [{ key, operator, values }] }, labels, "node-1");

test("matchesTerm() knows every operator of Kubernetes", () => {
  const cases: [boolean, Parameters<typeof holds>][] = [
    [true, ["zone", "In", ["b", "a"]]],
    [false, ["zone", "In", ["b"]]],
    [false, ["rack", "In", ["a"]]],
    [true, ["zone", "NotIn", ["b"]]],
    [true, ["rack", "NotIn", ["b"]]],
    [false, ["zone", "NotIn", ["a"]]],
    [true, ["empty", "Exists"]],
    [false, ["rack", "Exists"]],
    [true, ["rack", "DoesNotExist"]],
    [false, ["zone", "DoesNotExist"]],
    [true, ["rank", "Gt", ["9"]]],
    [false, ["rank", "Gt", ["10"]]],
    [true, ["rank", "Lt", ["11"]]],
    [false, ["zone", "Lt", ["11"]]],
    [false, ["rack", "Gt", ["1"]]],
    [false, ["constructor", "Exists"]],
  ];
  for (const [expected, given] of cases) assert.equal(holds(...given), expected, JSON.stringify(given));
});

test("a term needs all of its requirements, of terms one is enough, and an empty term matches nothing", () => {
  const zone = { key: "zone", operator: "In", values: ["a"] } as const;
  const other = { key: "zone", operator: "In", values: ["b"] } as const;
  assert.equal(
    matchesTerm({ matchExpressions: [{ ...zone, values: ["a"] }, { ...other, values: ["b"] }] }, labels, "n"),
    false,
  );
  assert.equal(matchesTerm({}, labels, "n"), false);
  assert.equal(matchesAny([{}, { matchExpressions: [{ ...zone, values: ["a"] }] }], labels, "n"), true);
  assert.equal(matchesAny([], labels, "n"), false);
});

test("matchFields speaks of the name of the node", () => {
  const named = (operator: "In" | "NotIn", name: string) =>
    matchesTerm({ matchFields: [{ key: "metadata.name", operator, values: [name] }] }, labels, "node-1");
  assert.deepEqual([named("In", "node-1"), named("In", "node-2"), named("NotIn", "node-2")], [
    true,
    false,
    true,
  ]);
});

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

test("the taint that agents put on their own Nodes is borne by every app", () => {
  assert.equal(tolerates([], { key: "app.example.com/nckubelet", effect: "NoSchedule" }), true);
  assert.equal(tolerates([], { key: "app.example.com/nckubelet", effect: "NoExecute" }), false);
});

test("tolerationMs() takes the least of the tolerations that match", () => {
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
