import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../src/lib/log.ts";
import type { Clock } from "../../src/report/clock.ts";
import { createSetQueue } from "../../src/sets/queue.ts";
import type { Reconciled } from "../../src/sets/reconcile.ts";
import { FakeClock, settled } from "../report/fake-clock.ts";

const settleMs = 100;

/** A queue whose plans are counted. */
function queueWith(clock: Clock, plan: (count: number) => Reconciled) {
  let count = 0;
  const reconcile = async () => plan(++count);
  const queue = createSetQueue({ reconcile, settleMs, log: silentLogger, clock });
  return { queue, plans: () => count };
}

test("changes within the settle time are planned together, and a change during a plan is planned after it", async () => {
  const clock = new FakeClock();
  const { queue, plans } = queueWith(clock, (count) => {
    if (count === 1) queue.add("web");
    return { again: false };
  });
  for (let time = 0; time < 3; time++) queue.add("web"), await clock.advance(20);
  assert.equal(plans(), 0);
  await clock.advance(settleMs);
  assert.equal(plans(), 1);
  await clock.advance(settleMs);
  assert.equal(plans(), 2);
  await clock.advance(3_600_000);
  assert.equal(plans(), 2);
});

test("a plan that failed is repeated after a backoff, or as soon as something changes", async () => {
  const clock = new FakeClock();
  const { queue, plans } = queueWith(clock, () => {
    throw new Error("no answer");
  });
  queue.add("web");
  await clock.advance(settleMs);
  // The waits grow: 1 s, 2 s, 4 s, 8 s, and half of that at most.
  await clock.advance(22_500);
  const failed = plans();
  assert.ok(failed >= 4 && failed <= 5, `${failed} plans`);
  queue.add("web");
  await clock.advance(settleMs);
  assert.equal(plans(), failed + 1);
});

test("changes that keep coming do not postpone a plan that is late already", async () => {
  let now = 0;
  // A busy machine: the timers are late.
  const clock = { now: () => now, wall: () => now, after: () => () => {} };
  const { queue, plans } = queueWith(clock, () => ({ again: false }));
  for (; now < 1000; now += 150) {
    queue.add("web");
    await settled();
  }
  assert.ok(plans() > 0);
});

test("a plan is made when the last one said so, by a clock that nobody sets", async () => {
  for (const hours of [-1, 1]) {
    const clock = new FakeClock();
    const wall = () => clock.now() + hours * 3_600_000;
    const set = { now: () => clock.now(), after: clock.after.bind(clock), wall };
    const { queue, plans } = queueWith(set, (count) => ({
      again: count === 1,
      ...(count === 2 ? { checkAt: wall() + 10_000 } : {}),
    }));
    queue.add("web");
    await clock.advance(settleMs);
    assert.equal(plans(), 1, `${hours} h`);
    await clock.advance(settleMs);
    assert.equal(plans(), 2);
    await clock.advance(9_999);
    assert.equal(plans(), 2);
    await clock.advance(1);
    assert.equal(plans(), 3);
  }
});
