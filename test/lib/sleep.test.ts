import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../src/lib/sleep.ts";

test("sleep() resolves, and not before its time", async () => {
  const order: string[] = [];
  const shorter = new Promise((resolve) => setTimeout(resolve, 1)).then(() => order.push("timer of 1 ms"));
  await Promise.all([sleep(20).then(() => order.push("sleep of 20 ms")), shorter]);
  assert.deepEqual(order, ["timer of 1 ms", "sleep of 20 ms"]);
});

test("sleep() ends early and without an error when its signal aborts", async () => {
  const stop = new AbortController();
  const sleeping = sleep(3_600_000, stop.signal);
  stop.abort(new Error("stopped"));
  await sleeping;
});

test("sleep() does not start when its signal is already aborted", async () => {
  await sleep(3_600_000, AbortSignal.abort());
});

test("sleep() of more than a timer can hold does not end at once", async () => {
  const stop = new AbortController();
  let ended = false;
  const sleeping = sleep(2 ** 40, stop.signal).then(() => ended = true);
  await sleep(5);
  assert.equal(ended, false);
  stop.abort();
  await sleeping;
});
