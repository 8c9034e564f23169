import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { sleep } from "../../../src/lib/sleep.ts";
import { createWaiter, type WaiterOptions } from "../../../src/supervisor/logs/log-waiter.ts";
import { tempFolder } from "../../temp-folder.ts";

const folder = tempFolder({ after }).path;
const never = new AbortController().signal;
const hour = 3_600_000;
// A wait that does not end fails within this time.
const timeout = 60_000;

/** A waiter that writes down how long it slept, and what ended the sleep. */
function recordingWaiter(path: string, options: WaiterOptions) {
  const sleeps: [ms: number, end: "timer" | "signal"][] = [];
  const waiter = createWaiter(path, {
    ...options,
    sleep: async (ms, signal) => {
      await sleep(ms, signal);
      sleeps.push([ms, signal?.aborted ? "signal" : "timer"]);
    },
  });
  return { waiter, sleeps, [Symbol.dispose]: () => waiter[Symbol.dispose]() };
}

test("a waiter that watches the folder is woken by a write", { timeout }, async () => {
  using recorded = recordingWaiter(folder, { emptyPolls: 0, maxWaitMs: hour });
  const { waiter, sleeps } = recorded;
  await waiter.wait(never);
  assert.deepEqual(sleeps, [], "the watch starts, and the caller reads once more");
  const woken = waiter.wait(never);
  await appendFile(join(folder, "app.log"), "hello\n");
  await woken;
  assert.deepEqual(sleeps, [[hour, "signal"]]);
});

test("a waiter for a remote folder polls only", { timeout }, async () => {
  using recorded = recordingWaiter(folder, { pollMs: 1, emptyPolls: 1, maxWaitMs: 2, canWatch: false });
  for (let i = 0; i < 4; i++) await recorded.waiter.wait(never);
  assert.deepEqual(recorded.sleeps.map(([ms]) => ms), [1, 2, 2, 2]);
});

test("a waiter polls a few times before it watches, and again after data came", { timeout }, async () => {
  using recorded = recordingWaiter(folder, { pollMs: 1, emptyPolls: 3, maxWaitMs: 2 });
  const { waiter, sleeps } = recorded;
  const polls = Array(3).fill([1, "timer"]);
  for (let i = 0; i < 4; i++) await waiter.wait(never);
  assert.deepEqual(sleeps.splice(0), polls);
  await waiter.wait(never);
  assert.deepEqual(sleeps.splice(0).map(([ms]) => ms), [2], "the folder is watched");
  waiter.gotData();
  for (let i = 0; i < 4; i++) await waiter.wait(never);
  assert.deepEqual(sleeps, polls);
});

test("a wait ends with its signal, while polling and while watching", { timeout }, async () => {
  for (const emptyPolls of [0, 10]) {
    const stop = new AbortController();
    using recorded = recordingWaiter(folder, { pollMs: hour, emptyPolls, maxWaitMs: hour });
    const { waiter, sleeps } = recorded;
    if (emptyPolls === 0) await waiter.wait(stop.signal);
    const waiting = waiter.wait(stop.signal);
    assert.deepEqual(sleeps, []);
    stop.abort();
    await waiting;
    assert.deepEqual(sleeps, [[hour, "signal"]]);
  }
});

test("a waiter whose folder cannot be watched returns after the longest wait", { timeout }, async () => {
  using recorded = recordingWaiter(join(folder, "none"), { emptyPolls: 0, maxWaitMs: 1 });
  const { waiter, sleeps } = recorded;
  await waiter.wait(never);
  await waiter.wait(never);
  assert.deepEqual(sleeps.map(([ms]) => ms), [1]);
});
