import assert from "node:assert/strict";
import { test } from "node:test";
import { createTokenBuckets } from "../../../src/report/events/token-buckets.ts";

const setUp = (burst: number) => {
  let time = 1_000_000;
  const buckets = createTokenBuckets({ burst, refillMs: 1000, now: () => time });
  const isThere = (key: string) => buckets.nextAt(key) <= time;
  const takeAll = (key: string) => {
    let taken = 0;
    for (; isThere(key) && taken < 1000; taken++) buckets.take(key);
    return taken;
  };
  return { buckets, takeAll, isThere, pass: (ms: number) => void (time += ms), now: () => time };
};

test("createTokenBuckets() gives a burst, then one token per refill, each key for itself", () => {
  const { takeAll, pass, isThere } = setUp(25);
  assert.equal(takeAll("a"), 25);
  assert.equal(takeAll("b"), 25);
  pass(999);
  assert.equal(isThere("a"), false);
  pass(1);
  assert.equal(takeAll("a"), 1);
  pass(3000);
  assert.equal(takeAll("a"), 3);
});

test("createTokenBuckets() fills up to the burst and no further", () => {
  const { takeAll, pass } = setUp(5);
  takeAll("a");
  pass(1_000_000);
  assert.equal(takeAll("a"), 5);
});

test("createTokenBuckets() reports when the next token is available", () => {
  const { buckets, takeAll, now } = setUp(3);
  takeAll("a");
  assert.equal(buckets.nextAt("a"), now() + 1000);
});

test("createTokenBuckets() keeps the tokens of buckets in use while it drops full ones", () => {
  const { buckets, takeAll, pass, isThere } = setUp(2);
  for (let number = 0; number < 5000; number++) {
    buckets.take(`key${number}`);
    pass(10);
  }
  takeAll("empty");
  for (let number = 0; number < 300; number++) buckets.take(`other${number}`);
  assert.equal(isThere("empty"), false);
});
