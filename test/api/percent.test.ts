import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPercent, parsePercent } from "../../src/api/percent.ts";

test("parsePercent() parses each form of a share", () => {
  const forms: Array<[string | number, number]> = [
    ["20", 20],
    ["12.5", 12.5],
    ["20%", 20],
    ["12.50%", 12.5],
    ["100", 100],
    ["100.0", 100],
    ["0.1", 0.1],
    ["0.001", 0.001],
    [20, 20],
    [12.5, 12.5],
    [100, 100],
  ];
  for (const [value, percent] of forms) assert.equal(parsePercent(value), percent, String(value));
});

test("parsePercent() returns undefined for no share", () => {
  for (const value of ["", undefined, null]) assert.equal(parsePercent(value), undefined);
});

test("parsePercent() rejects everything else with the value", () => {
  const bad = [
    "200",
    "abc",
    "-1",
    "0",
    "0%",
    "0.000",
    "100.01",
    "%",
    "5%%",
    "5 %",
    " 5",
    "5\n",
    "1e1",
    "0x10",
    "Infinity",
  ];
  for (const value of [...bad, -1, 0, 101, NaN, Infinity]) {
    assert.throws(
      () => parsePercent(value),
      (error: Error) =>
        error instanceof RangeError &&
        error.message.includes(`Invalid value: ${JSON.stringify(value)}: must be`),
      String(value),
    );
  }
});

test("formatPercent() prints one decimal", () => {
  assert.equal(formatPercent(0), "0.0");
  assert.equal(formatPercent(19.94), "19.9");
  assert.equal(formatPercent(100), "100.0");
  assert.equal(formatPercent(-0.01), "0.0");
  assert.throws(() => formatPercent(NaN), /not a percentage: NaN/);
});
