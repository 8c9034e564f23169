import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAmount, parseFlat } from "../../cgroups/parse.ts";

test("parseFlat() reads one number per key", () => {
  assert.deepEqual(parseFlat("populated 1\nfrozen 0\n", "cgroup.events"), { populated: 1, frozen: 0 });
  assert.deepEqual(parseFlat("", "x"), {});
});

test("parseAmount() reads max as Infinity", () => {
  assert.equal(parseAmount("max", "memory.max"), Infinity);
  assert.equal(parseAmount("4096", "memory.max"), 4096);
});

test("a text that is not a number is an error that names text and file", () => {
  for (const text of ["", "many", "1 2"]) {
    assert.throws(() => parseAmount(text, "/x/memory.max"), {
      name: "CgroupError",
      message: `cannot parse ${JSON.stringify(text)} in /x/memory.max: not a number`,
    });
  }
});
