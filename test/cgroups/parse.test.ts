import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAmount, parseFlat, parseNested } from "../../cgroups/parse.ts";

test("parseFlat() reads one number per key", () => {
  assert.deepEqual(parseFlat("populated 1\nfrozen 0\n", "cgroup.events"), { populated: 1, frozen: 0 });
  assert.deepEqual(parseFlat("", "x"), {});
});

test("parseNested() reads named numbers per key, and a device without any", () => {
  const text = "253:0 rbytes=1 wbytes=2\n7:0 \n8:16 rbytes=9 cost.vrate=100.00\n";
  assert.deepEqual(parseNested(text, "io.stat"), {
    "253:0": { rbytes: 1, wbytes: 2 },
    "7:0": {},
    "8:16": { rbytes: 9, "cost.vrate": 100 },
  });
});

test("parseAmount() reads max as no bound", () => {
  assert.equal(parseAmount("max", "memory.max"), Infinity);
  assert.equal(parseAmount("4096", "memory.max"), 4096);
});

test("a text that is no number is an error naming text and file", () => {
  for (const text of ["", "many", "1 2"]) {
    assert.throws(() => parseAmount(text, "/x/memory.max"), {
      name: "CgroupError",
      message: `cannot parse ${JSON.stringify(text)} in /x/memory.max: not a number`,
    });
  }
});
