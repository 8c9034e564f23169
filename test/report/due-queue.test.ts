import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "../../src/report/due-queue.ts";
import { FakeClock } from "./fake-clock.ts";

const setUp = () => {
  const clock = new FakeClock();
  let calls = 0;
  const turns = createTurns<string>(clock, () => void calls++);
  const takeAll = () => {
    const taken: string[] = [];
    for (let turn = turns.take(); turn; turn = turns.take()) taken.push(turn.item);
    return taken;
  };
  return { clock, turns, takeAll, calls: () => calls };
};

test("createTurns() gives urgent items first, each kind in order of arrival", () => {
  const { turns, takeAll } = setUp();
  for (const name of ["usage1", "usage2"]) turns.put(name, { at: 0, urgent: false });
  for (const name of ["phase1", "phase2"]) turns.put(name, { at: 0, urgent: true });
  assert.deepEqual(takeAll(), ["phase1", "phase2", "usage1", "usage2"]);
});

test("createTurns() keeps the place of an item that is put again, and moves one that became urgent", () => {
  const { turns, takeAll } = setUp();
  for (const name of ["a", "b", "c"]) turns.put(name, { at: 0, urgent: false });
  turns.put("a", { at: 0, urgent: false });
  turns.put("c", { at: 0, urgent: true });
  assert.equal(turns.due, 3);
  assert.deepEqual(takeAll(), ["c", "a", "b"]);
});

test("createTurns() brings a waiting item in when its time has come, as urgent as it was, with one timer for all", async () => {
  const { clock, turns, takeAll, calls } = setUp();
  turns.put("usage", { at: clock.now() + 1000, urgent: false });
  turns.put("phase", { at: clock.now() + 1000, urgent: true });
  turns.put("last", { at: clock.now() + 5000, urgent: true });
  assert.equal(clock.timers, 1);
  await clock.advance(999);
  assert.equal(turns.due, 0);
  await clock.advance(1);
  assert.equal(calls(), 1);
  assert.deepEqual(takeAll(), ["phase", "usage"]);
  await clock.advance(4000);
  assert.deepEqual(takeAll(), ["last"]);
});

test("createTurns() forgets an item that is removed or needs no turn, and everything when it is closed", async () => {
  const { clock, turns, takeAll } = setUp();
  turns.put("removed", { at: 0, urgent: true });
  turns.put("settled", { at: clock.now() + 10, urgent: true });
  turns.remove("removed");
  turns.put("settled", undefined);
  await clock.advance(20);
  assert.deepEqual(takeAll(), []);
  turns.put("late", { at: clock.now() + 10, urgent: true });
  turns.close();
  turns.put("too late", { at: 0, urgent: true });
  assert.equal(turns.due, 0);
  assert.equal(clock.timers, 0);
});
