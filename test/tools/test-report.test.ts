import assert from "node:assert/strict";
import { test } from "node:test";
import { countOwnTime, type EndedTest } from "../../tools/test/ended-test.ts";
import { createDenoReader, createNodeReader, parseDenoTime } from "../../tools/test/read-output.ts";
import { formatEnd, skipReasons, slowestTests, type SuiteResult } from "../../tools/test/report.ts";

function ended(name: string, changes: Partial<EndedTest> = {}): EndedTest {
  return { name, file: "test/a.test.ts", result: "passed", ownMs: 1, counts: true, ...changes };
}

function suite(name: string, runtime: "Node" | "Deno", tests: EndedTest[]): SuiteResult {
  const totals = { passed: tests.length, failed: 0, skipped: 0 };
  const title = `${name} tests on ${runtime}`;
  return { suite: { name, runtime, title }, line: `${title}: …`, totals, failures: [], tests };
}

test("slowestTests() ranks the tests of all suites, and finds the files of Deno's by those of Node", () => {
  const results = [
    suite("unit", "Node", [ended("quick"), ended("slow", { ownMs: 2345 }), ended("tiny", { ownMs: 99 })]),
    suite("unit", "Deno", [
      ended("slow", { ownMs: 3000, file: "dist/test/unit-deno-1.mjs" }),
      ended("only here", { ownMs: 1000, file: "dist/test/unit-deno-1.mjs" }),
    ]),
    suite("guest", "Node", [ended("in a guest: x.ts", { ownMs: 61_000, file: "test/guest/x.test.ts" })]),
  ];
  assert.deepEqual(slowestTests(results), [
    "   61.0 s  guest on Node: in a guest: x.ts  (test/guest/x.test.ts)",
    "    3.0 s  unit on Deno: slow  (test/a.test.ts)",
    "    2.3 s  unit on Node: slow  (test/a.test.ts)",
    "    1.0 s  unit on Deno: only here  (dist/test/unit-deno-1.mjs)",
  ]);
  assert.equal(slowestTests(results, 2).length, 2);
});

test("countOwnTime() leaves a parent the time that its subtests do not explain", () => {
  const ownTime = countOwnTime();
  assert.equal(ownTime("child", "parent", 900), 900);
  assert.equal(ownTime("another", "parent", 50), 50);
  assert.equal(ownTime("parent", "file", 1000), 50);
  assert.equal(ownTime("one", "side by side", 900), 900);
  assert.equal(ownTime("two", "side by side", 900), 900);
  assert.equal(ownTime("side by side", "file", 1000), 0);
});

test("skipReasons() groups skipped tests by reason, for Deno by that of the same test on Node", () => {
  const guest = "guest: no linux.uml on the PATH";
  const skipped = (name: string, reason?: string) => ended(name, { result: "skipped", reason });
  const results = [
    suite("unit", "Node", [skipped("a", "no promtool"), ended("the bundle is ASCII"), ended("b")]),
    suite("unit", "Deno", [skipped("a"), skipped("the bundle is ASCII, and more"), skipped("b")]),
    suite("guest", "Node", [skipped("x", guest), skipped("y", guest), skipped("z", guest)]),
  ];
  assert.deepEqual(skipReasons(results), [
    `      3  ${guest}`,
    "      2  no promtool",
    "      1  runs on Node; esbuild's package does not run on Deno  (the bundle is ASCII, and more)",
    "      1  no reason given: b",
  ]);
});

test("formatEnd() repeats failures, names what was left out, and ends with the totals", () => {
  const broken = suite("unit", "Node", [ended("a", { result: "failed" })]);
  broken.totals = { passed: 0, failed: 1, skipped: 0 };
  broken.failures = ["  FAIL  a"];
  const lines = formatEnd([broken, suite("unit", "Deno", [ended("a")])], ["install: takes its name"]).split(
    "\n",
  );
  assert.deepEqual(lines.filter((line) => line !== ""), [
    "== failed: unit tests on Node: …",
    "  FAIL  a",
    "== not run",
    "    all  install: takes its name",
    "== totals",
    "unit tests on Node: …",
    "unit tests on Deno: …",
    "1 passed, 1 failed, 0 skipped",
  ]);
});

test("parseDenoTime() reads every unit", () => {
  const times = { "519µs": 0.519, "12ms": 12, "1s": 1000, "1m2s": 62_000, "1h1m": 3_660_000, "": 0 };
  for (const [text, ms] of Object.entries(times)) assert.equal(parseDenoTime(text), ms, text);
});

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
