import assert from "node:assert/strict";
import { test } from "node:test";
import { criticalPriority } from "../../src/node/eviction.ts";
import { priorityOf, systemClasses } from "../../src/node/priority.ts";

const high = { name: "high", value: 1000, globalDefault: false };
const usual = { name: "usual", value: 10, globalDefault: true };

test("priorityOf() returns the value of the named class, else of the default class, else 0", () => {
  assert.equal(priorityOf("high", [high, usual]), 1000);
  assert.equal(priorityOf(undefined, [high, usual]), 10);
  assert.equal(priorityOf("", [high, usual]), 10);
  assert.equal(priorityOf(undefined, [high]), 0);
  assert.equal(priorityOf("unknown", [high, usual]), 0);
});

test("priorityOf() uses the lowest of several defaults", () => {
  assert.equal(priorityOf(undefined, [{ ...usual, value: 20 }, usual]), 10);
});

test("the system's priority classes are critical", () => {
  assert.ok(systemClasses.every(({ name }) => priorityOf(name, systemClasses) >= criticalPriority));
});
