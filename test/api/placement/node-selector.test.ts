import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeSelectorRequirement } from "../../../src/api/types.ts";
import { matchesAny, matchesTerm } from "../../../src/api/placement/placement.ts";

const labels = { zone: "a", rank: "10", empty: "" };

const holds = (key: string, operator: NodeSelectorRequirement["operator"], values?: string[]) =>
  matchesTerm({ matchExpressions: [{ key, operator, values }] }, labels, "node-1");

test("matchesTerm() supports every operator of Kubernetes", () => {
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

test("a term matches if all its requirements do, one matching term is enough, and an empty term matches nothing", () => {
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

test("matchFields matches the name of the node", () => {
  const named = (operator: "In" | "NotIn", name: string) =>
    matchesTerm({ matchFields: [{ key: "metadata.name", operator, values: [name] }] }, labels, "node-1");
  assert.deepEqual([named("In", "node-1"), named("In", "node-2"), named("NotIn", "node-2")], [
    true,
    false,
    true,
  ]);
});
