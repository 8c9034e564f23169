import assert from "node:assert/strict";
import { test } from "node:test";
import { orAborted, sleep, waitAtMost } from "../../src/lib/sleep.ts";

/** Waits for all that is due: promises, timers without a delay, and I/O. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("sleep() ends after its time: a timer of less time is over, one of much more is not", async () => {
  const events: string[] = [];
  setTimeout(() => events.push("shorter"), 10);
  const longer = setTimeout(() => events.push("longer"), 3_600_000);
  await sleep(20);
  clearTimeout(longer);
  assert.deepEqual(events, ["shorter"]);
});

for (const [what, ms] of Object.entries({ "an hour": 3_600_000, "more than a timer can hold": 2 ** 40 })) {
  test(`sleep() of ${what} lasts until its signal aborts, and ends without an error`, async () => {
    const stop = new AbortController();
    let ended = false;
    const sleeping = sleep(ms, stop.signal).then(() => ended = true);
    // A timer that cannot hold its time fires after 1 ms.
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(ended, false);
    stop.abort(new Error("stopped"));
    await sleeping;
  });
}

test("sleep() does not start when its signal is already aborted", async () => {
  let ended = false;
  sleep(3_600_000, AbortSignal.abort()).then(() => ended = true);
  await settle();
  assert.equal(ended, true);
});

test("waitAtMost() says whether the work was done in time, passes its error on, and leaves no timer", async () => {
  assert.equal(await waitAtMost(3_600_000, Promise.resolve()), true);
  assert.equal(await waitAtMost(1, new Promise(() => {})), false);
  await assert.rejects(waitAtMost(3_600_000, Promise.reject(new Error("failed"))), /^Error: failed$/);
});

test("orAborted() settles as its work does, or rejects with the reason of an abort, before it or during it", async () => {
  const stop = new AbortController();
  assert.equal(await orAborted(Promise.resolve(7), stop.signal), 7);
  await assert.rejects(orAborted(Promise.reject(new Error("failed")), stop.signal), /^Error: failed$/);
  const { promise, reject } = Promise.withResolvers<never>();
  const waiting = orAborted(promise, stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(waiting, /^Error: stopped$/);
  await assert.rejects(orAborted(promise, stop.signal), /^Error: stopped$/);
  // Nobody waits for it any more: it must not count as unhandled.
  reject(new Error("late"));
  await settle();
});
