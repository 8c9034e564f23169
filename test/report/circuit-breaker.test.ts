import assert from "node:assert/strict";
import { test } from "node:test";
import { createCircuitBreaker } from "../../src/report/circuit-breaker.ts";
import { FakeClock } from "./fake-clock.ts";
import { createTestLog } from "./test-log.ts";

const setUp = () => {
  const clock = new FakeClock();
  const log = createTestLog();
  return { clock, log, breaker: createCircuitBreaker({ clock, log, what: "reports", random: () => 0 }) };
};
const failure = new Error("503");

test("createCircuitBreaker() does not trip for one app that always fails", () => {
  const { breaker } = setUp();
  for (let times = 0; times < 10; times++) breaker.failed("default/bad", failure);
  assert.equal(breaker.allows(3), true);
});

test("createCircuitBreaker() trips when several apps fail, allows one request at a time after growing waits, and resets on success", async () => {
  const { breaker, clock } = setUp();
  for (const name of ["a", "b", "c"]) breaker.failed(name, failure);
  const waits = [];
  for (const name of ["d", "e", "f", "g", "h", "i", "j"]) {
    assert.equal(breaker.allows(0), false);
    waits.push(breaker.retryAt - clock.now());
    await clock.advance(breaker.retryAt - clock.now());
    assert.equal(breaker.allows(1), false);
    assert.equal(breaker.allows(0), true);
    breaker.failed(name, failure);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
  breaker.succeeded();
  assert.equal(breaker.allows(3), true);
  assert.equal(breaker.retryAt, 0);
});

test("createCircuitBreaker() counts failures of different apps only while nothing succeeds", () => {
  const { breaker } = setUp();
  for (const name of ["a", "b"]) breaker.failed(name, failure);
  breaker.succeeded();
  for (const name of ["c", "d"]) breaker.failed(name, failure);
  assert.equal(breaker.allows(3), true);
});

test("createCircuitBreaker() retries early, but not within a second, when the server answered another request", async () => {
  const { breaker, clock } = setUp();
  for (const name of ["a", "b", "c", "d", "e", "f"]) breaker.failed(name, failure);
  breaker.serverAnswered();
  assert.equal(breaker.retryAt, clock.now() + 1000);
  await clock.advance(5000);
  breaker.serverAnswered();
  assert.equal(breaker.allows(0), true);
});
