import assert from "node:assert/strict";
import { test } from "node:test";
import { memoize } from "../../src/lib/memoize.ts";

test("memoize() computes a result once per object, even undefined, and again for an equal object", () => {
  const computed: object[] = [];
  const answer = memoize((key: { name: string }) => void computed.push(key));
  const [first, equal] = [{ name: "a" }, { name: "a" }];
  for (const key of [first, equal, first, equal]) assert.equal(answer(key), undefined);
  assert.deepEqual(computed, [first, equal]);
});

test("memoize() does not keep a failure", () => {
  let times = 0;
  const answer = memoize((_key: object) => {
    if (++times === 1) throw new Error("not yet");
    return times;
  });
  const key = {};
  assert.throws(() => answer(key), /not yet/);
  assert.equal(answer(key), 2);
});
