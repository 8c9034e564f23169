import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { createRandom } from "../random.ts";
import { holds, judge, makeInput, oneLine, runCase, type Target } from "./engine.ts";
import { asBytes, mutateBytes } from "./mutate-bytes.ts";
import { mutateTree } from "./mutate-tree.ts";
import { shrink } from "./shrink.ts";

const target = (run: (text: string) => unknown, more: Partial<Target> = {}): Target => ({
  name: "test",
  covers: [],
  samples: ['{"a": [1, 2], "b": "x"}', "key: value\n"],
  open: () => ({ run: (input) => run(Buffer.from(input).toString("utf8")) }),
  ...more,
});

async function outcome(run: (text: string) => unknown, more: Partial<Target> = {}, cpuMs?: () => number) {
  const made = target(run, more);
  return await runCase(made, await made.open(), Buffer.from("input"), cpuMs);
}

test("makeInput() returns the same input for the same seed and number, and different ones otherwise", () => {
  const made = target(() => {});
  assert.deepEqual(makeInput(made, 1, 7), makeInput(made, 1, 7));
  const different = new Set(
    Array.from({ length: 200 }, (_, n) => Buffer.from(makeInput(made, 1, n)).toString("hex")),
  );
  assert.ok(different.size > 150, `${different.size} of 200 differ`);
  assert.notDeepEqual(
    Array.from({ length: 20 }, (_, n) => makeInput(made, 1, n)),
    Array.from({ length: 20 }, (_, n) => makeInput(made, 2, n)),
  );
});

test("makeInput() respects the maximum length, and reaches it", () => {
  const made = target(() => {}, { maxBytes: 3000 });
  const lengths = Array.from({ length: 3000 }, (_, n) => makeInput(made, 3, n).length);
  assert.ok(Math.max(...lengths) <= 3000);
  assert.ok(lengths.some((length) => length > 2900));
});

test("makeInput() changes the samples of a tree target as values only", () => {
  const made = target(() => {}, { treesOnly: true, samples: ['{"a": [1, {"b": "x"}]}'] });
  for (let n = 0; n < 500; n++) JSON.parse(Buffer.from(makeInput(made, 1, n)).toString("utf8"));
});

test("mutateBytes() and mutateTree() accept anything, even empty text", () => {
  const material = { samples: ["", "a"], tokens: [], maxBytes: 1000 };
  for (let n = 0; n < 500; n++) {
    const random = createRandom(n);
    assert.ok(mutateBytes(random, n % 2 ? "" : "abc 12\n", material).length <= 1000);
    mutateTree(random, n % 2 ? "" : "[]");
  }
  assert.equal(mutateTree(createRandom(1), "no json"), undefined);
  assert.equal(asBytes("é"), "\xc3\xa9");
});

test("mutateTree() changes one line of several", () => {
  const unchanged = Array.from({ length: 50 }, (_, n) => {
    const lines = mutateTree(createRandom(n), '{"a":1}\n{"a":1}\n{"a":1}')!.split("\n");
    assert.equal(lines.length, 3);
    return lines.filter((line) => line === '{"a":1}').length;
  });
  // A change may restore the original.
  assert.deepEqual([...new Set(unchanged)].sort(), [2, 3]);
});

test("runCase() passes a target that returns, or throws a declared error", async () => {
  const refusal = { name: "Error", says: /field/ };
  assert.equal(await outcome(() => 1), undefined);
  assert.equal(await outcome(async () => 1), undefined);
  assert.equal(await outcome(() => Promise.reject(new Error("the field is bad")), { refusal }), undefined);
});

test("runCase() reports other errors, long, broken and unclear messages, and thrown values that are no errors", async () => {
  const refusal = { name: "Error", says: /field/, maxLength: 50 };
  const throwing = (error: unknown) => () => {
    throw error;
  };
  assert.match(await outcome(throwing(new Error("x"))) ?? "", /^threw Error: x/);
  assert.match(await outcome(throwing(new TypeError("x of field")), { refusal }) ?? "", /^threw TypeError/);
  assert.match(
    await outcome(throwing(new Error("field".repeat(20))), { refusal }) ?? "",
    /has 100 characters/,
  );
  assert.match(await outcome(throwing(new Error("field\nb")), { refusal }) ?? "", /not one line/);
  assert.match(await outcome(throwing(new Error("it")), { refusal }) ?? "", /does not say where/);
  assert.match(await outcome(throwing("text"), { refusal }) ?? "", /threw text/);
});

test("runCase() reports failed assertions of a target, and cases that take too long", async () => {
  assert.equal(await outcome(() => holds(false, "it does not hold")), "it does not hold");
  assert.equal(await outcome(() => oneLine("a\nb", "a text")), 'a text is not one line: "a\\nb"');
  let clock = 0;
  assert.match(await outcome(() => {}, {}, () => clock += 2000) ?? "", /took 2000 ms/);
});

test("runCase() reports a changed prototype and undoes the change", async () => {
  const found = await outcome(() => {
    // deno-lint-ignore no-explicit-any
    (Object.prototype as any).polluted = 1;
  });
  assert.match(found ?? "", /prototype: "polluted"/);
  assert.equal("polluted" in {}, false);
});

test("judge() accepts a message of several lines if it is for a terminal", () => {
  assert.equal(judge(new Error("a\nb"), { name: "Error", anyLines: true }), undefined);
});

test("shrink() keeps only what causes the problem", async () => {
  const input = Buffer.from(`${"x".repeat(500)}bad${"y".repeat(300)}`);
  const smallest = await shrink(input, async (bytes) => Buffer.from(bytes).toString().includes("bad"));
  assert.equal(Buffer.from(smallest).toString(), "bad");
});
