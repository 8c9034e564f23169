import assert from "node:assert/strict";
import { test } from "node:test";
import { StartAttempt } from "../../../src/supervisor/runner/start-attempt.ts";

test("the wait for a launcher counts from the end of its start, or from when the run was adopted", async () => {
  let elapsed = 1000;
  const attempt = new StartAttempt(() => elapsed);
  elapsed += 500;
  assert.equal(attempt.waitedMs, 500);
  {
    using _start = attempt.begin();
    elapsed += 30_000;
  }
  assert.equal(attempt.waitedMs, 0);
  elapsed += 700;
  assert.equal(attempt.waitedMs, 700);
  const fail = async () => {
    using _start = attempt.begin();
    await Promise.reject(new Error("no disk"));
  };
  await assert.rejects(fail(), /no disk/);
  assert.equal(attempt.waitedMs, 0);
});

test("cancel() aborts the start under way only, close() aborts every later start", async () => {
  const attempt = new StartAttempt();
  {
    using first = attempt.begin();
    attempt.cancel(new Error("the app was changed"));
    assert.equal(first.signal.reason.message, "the app was changed");
  }
  attempt.cancel(new Error("too late"));
  {
    using second = attempt.begin();
    assert.equal(second.signal.aborted, false);
  }
  attempt.close();
  using third = attempt.begin();
  assert.equal(third.signal.reason.message, "the agent is stopping");
});
