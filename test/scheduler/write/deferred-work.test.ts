import assert from "node:assert/strict";
import { test } from "node:test";
import { createDeferredWork } from "../../../src/scheduler/write/write.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { waitFor } from "../../wait-for.ts";

test("deferred work runs in order when no binds are in flight", async () => {
  const state = { busy: true, asked: 0 };
  const deferred = createDeferredWork({
    isBusy: () => {
      state.asked++;
      return state.busy;
    },
    signal: new AbortController().signal,
    delayMs: 1,
    stepMs: 1,
  });
  const done: number[] = [];
  for (let at = 0; at < 60; at++) deferred.add(() => done.push(at));
  await waitFor("it has looked a few times", () => state.asked > 3);
  assert.deepEqual(done, []);
  state.busy = false;
  await waitFor("all is done", () => done.length === 60);
  assert.deepEqual(done, Array.from({ length: 60 }, (_, at) => at));
});

test("work that has waited too long runs even while binds are in flight, and flush() runs the rest", async () => {
  const clock = { now: 0 };
  const stopping = new AbortController();
  const deferred = createDeferredWork({
    isBusy: () => true,
    signal: stopping.signal,
    delayMs: 1,
    longestMs: 1000,
    stepMs: 1,
    now: () => clock.now,
  });
  const done: string[] = [];
  deferred.add(() => done.push("old"));
  clock.now = 1000;
  deferred.add(() => done.push("young"));
  await waitFor("the old one is done", () => done.length > 0);
  assert.deepEqual(done, ["old"]);
  stopping.abort();
  deferred.flush();
  assert.deepEqual(done, ["old", "young"]);
});

test("setting the clock back does not delay deferred work", async (t) => {
  using clock = takeMachineClock();
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const deferred = createDeferredWork({
    isBusy: () => false,
    signal: stopping.signal,
    delayMs: 1,
    stepMs: 1,
  });
  const done: string[] = [];
  deferred.add(() => done.push("first"));
  clock.setBack(3_600_000);
  await waitFor("it is done", () => done.length === 1, 5000);
});
