import assert from "node:assert/strict";
import { test } from "node:test";
import { remember } from "../../src/lib/remember.ts";

test("remember() works out the answer for an object once, be it undefined, and for its twin again", () => {
  const asked: object[] = [];
  const answer = remember((key: { name: string }) => void asked.push(key));
  const [one, twin] = [{ name: "a" }, { name: "a" }];
  for (const key of [one, twin, one, twin]) assert.equal(answer(key), undefined);
  assert.deepEqual(asked, [one, twin]);
});

test("remember() does not remember what went wrong", () => {
  let times = 0;
  const answer = remember((_key: object) => {
    if (++times === 1) throw new Error("not yet");
    return times;
  });
  const key = {};
  assert.throws(() => answer(key), /not yet/);
  assert.equal(answer(key), 2);
});
