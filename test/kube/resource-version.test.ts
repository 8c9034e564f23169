import assert from "node:assert/strict";
import { test } from "node:test";
import { isEarlier, isLater } from "../../src/kube/resource-version.ts";

const cases: [string | undefined, string | undefined, { later: boolean; earlier: boolean }][] = [
  ["11", "10", { later: true, earlier: false }],
  ["10", "11", { later: false, earlier: true }],
  ["10", "10", { later: false, earlier: false }],
  ["10", "9", { later: true, earlier: false }],
  ["9", "10", { later: false, earlier: true }],
  ["9007199254740994", "9007199254740993", { later: true, earlier: false }],
  ["9007199254740993", "9007199254740994", { later: false, earlier: true }],
  ["99999999999999999999999", "100000000000000000000000", { later: false, earlier: true }],
  // The order is unknown: the last arrival counts, and nothing is certain.
  ["b7", "a7", { later: true, earlier: false }],
  ["a7", "b7", { later: true, earlier: false }],
  ["a7", "10", { later: true, earlier: false }],
  ["10", "a7", { later: true, earlier: false }],
  ["a7", "a7", { later: false, earlier: false }],
  ["10", undefined, { later: true, earlier: false }],
  ["10", "", { later: true, earlier: false }],
  [undefined, "10", { later: false, earlier: true }],
  [undefined, undefined, { later: false, earlier: false }],
  ["", "", { later: false, earlier: false }],
];

for (const [a, b, { later, earlier }] of cases) {
  const described = `resourceVersion ${JSON.stringify(a)} against ${JSON.stringify(b)}`;
  test(`${described} is ${later ? "" : "not "}later and ${earlier ? "" : "not "}earlier`, () => {
    assert.equal(isLater(a, b), later);
    assert.equal(isEarlier(a ?? "", b ?? ""), earlier);
  });
}
