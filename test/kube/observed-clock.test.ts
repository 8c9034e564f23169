import assert from "node:assert/strict";
import { test } from "node:test";
import { createObservedClock } from "../../src/kube/observed-clock.ts";

test("the observed clock stands still while nothing can be watched and while the process is suspended", () => {
  const clock = { now: 0 };
  const observedClock = createObservedClock(() => clock.now);
  const pass = (ms: number, looking: boolean) => {
    clock.now += ms;
    observedClock.tick(looking);
    return observedClock.now();
  };
  assert.equal(pass(1000, true), 1000);
  assert.equal(pass(60_000, true), 4000, "a minute without a tick was no minute of watching");
  assert.equal(pass(1000, false), 4000);
  assert.equal(pass(1000, true), 5000);
  assert.equal(pass(-500, true), 5000, "a clock that is set back is no time either");
});
