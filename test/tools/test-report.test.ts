import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndedTest } from "../../tools/test/ended-test.ts";
import { createDenoReader, createNodeReader } from "../../tools/test/read-output.ts";

function ended(name: string, changes: Partial<EndedTest> = {}): EndedTest {
  return { name, file: "test/a.test.ts", result: "passed", ownMs: 1, counts: true, ...changes };
}

test("createDenoReader() reads tests with their file, time and result, and a failure of a subtest once", () => {
  const lines = [
    "./test/a.test.ts => a parent ... a child ... ok (900ms)",
    "./test/a.test.ts => a parent ... ok (1s)",
    "./test/a.test.ts => broken ... inside ... FAILED (3ms)",
    "./test/a.test.ts => broken ... FAILED (due to 1 failed step) (4ms)",
    "running 3 tests",
  ];
  const readings = lines.map(createDenoReader());
  assert.deepEqual(readings.map(({ ended }) => ended && [ended.name, ended.result, ended.ownMs]), [
    ["a parent > a child", "passed", 900],
    ["a parent", "passed", 100],
    ["broken > inside", "failed", 3],
    ["broken", "failed", 1],
    undefined,
  ]);
  assert.equal(readings[0]!.ended!.file, "test/a.test.ts");
  assert.deepEqual(readings.map(({ shown }) => shown), ["broken", "broken", "always", "broken", "broken"]);
});

test("createNodeReader() shows failures always, and files and notes to one who watches", () => {
  const read = createNodeReader();
  const shown = {
    "  FAIL  it breaks  (test/a.test.ts)": "always",
    "        Error: why": "always",
    "FAIL  test/a.test.ts  1 of 2 failed, 1.3s": "always",
    "  open  it hangs  (test/a.test.ts)": "always",
    "ok  test/b.test.ts  2 tests, 0.1s": "watched",
    "  note  22 moments": "watched",
    "1 passed, 0 failed, 0 skipped": "never",
  };
  for (const [line, expected] of Object.entries(shown)) assert.equal(read(line).shown, expected, line);
  assert.deepEqual(read(`#test ${JSON.stringify(ended("a"))}`), { shown: "never", ended: ended("a") });
});
