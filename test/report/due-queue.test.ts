import assert from "node:assert/strict";
import { test } from "node:test";
import { createDueQueue } from "../../src/report/due-queue.ts";
import { FakeClock } from "./fake-clock.ts";

const setUp = () => {
  const clock = new FakeClock();
  let calls = 0;
  const queue = createDueQueue<string>(clock, () => void calls++);
  const takeAll = () => {
    const taken: string[] = [];
    for (let next = queue.take(); next; next = queue.take()) taken.push(next.key);
    return taken;
  };
  return { clock, queue, takeAll, calls: () => calls };
};

test("createDueQueue() keeps the place of a key that is put again, and moves one that became urgent", () => {
  const { queue, takeAll } = setUp();
  for (const name of ["a", "b", "c"]) queue.put(name, { at: 0, urgent: false });
  queue.put("a", { at: 0, urgent: false });
  queue.put("c", { at: 0, urgent: true });
  assert.equal(queue.size, 3);
  assert.deepEqual(takeAll(), ["c", "a", "b"]);
});

test("createDueQueue() returns a waiting key when it is due, as urgent as it was, with one timer for all", async () => {
  const { clock, queue, takeAll, calls } = setUp();
  queue.put("usage", { at: clock.now() + 1000, urgent: false });
  queue.put("phase", { at: clock.now() + 1000, urgent: true });
  queue.put("last", { at: clock.now() + 5000, urgent: true });
  assert.equal(clock.timers, 1);
  await clock.advance(999);
  assert.equal(queue.size, 0);
  await clock.advance(1);
  assert.equal(calls(), 1);
  assert.deepEqual(takeAll(), ["phase", "usage"]);
  await clock.advance(4000);
  assert.deepEqual(takeAll(), ["last"]);
});

test("createDueQueue() drops a key that is removed or not due, and all keys when it is closed", async () => {
  const { clock, queue, takeAll } = setUp();
  queue.put("removed", { at: 0, urgent: true });
  queue.put("settled", { at: clock.now() + 10, urgent: true });
  queue.remove("removed");
  queue.put("settled", undefined);
  await clock.advance(20);
  assert.deepEqual(takeAll(), []);
  queue.put("late", { at: clock.now() + 10, urgent: true });
  queue.close();
  queue.put("too late", { at: 0, urgent: true });
  assert.equal(queue.size, 0);
  assert.equal(clock.timers, 0);
});
