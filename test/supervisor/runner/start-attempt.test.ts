import assert from "node:assert/strict";
import { test } from "node:test";
import { StartAttempt } from "../../../src/supervisor/runner/start-attempt.ts";

test("a launcher is waited for since its start was made, not since it was decided on; else since the run was taken over", async () => {
  let elapsed = 1000;
  const attempt = new StartAttempt(() => elapsed);
  elapsed += 500;
  assert.equal(attempt.waitedMs, 500);
  await attempt.make(async () => void (elapsed += 30_000));
  assert.equal(attempt.waitedMs, 0);
  elapsed += 700;
  assert.equal(attempt.waitedMs, 700);
  await assert.rejects(attempt.make(() => Promise.reject(new Error("no disk"))), /no disk/);
  assert.equal(attempt.waitedMs, 0);
});

test("a start can be called off while it is under way, and each is once the agent stops", async () => {
  const attempt = new StartAttempt();
  const first = await attempt.make(async (signal) => {
    attempt.callOff(new Error("the app was changed"));
    return signal;
  });
  assert.equal(first.reason.message, "the app was changed");
  attempt.callOff(new Error("too late"));
  assert.equal((await attempt.make(async (signal) => signal)).aborted, false);
  attempt.close();
  assert.equal((await attempt.make(async (signal) => signal)).reason.message, "the agent is stopping");
});
