import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/report/clock.ts";

test("a wait that is longer than a timer supports does not end at once", (t) => {
  const timers = t.mock.method(globalThis, "setTimeout");
  systemClock.after(2 ** 40, () => {})();
  assert.equal(timers.mock.calls[0]?.arguments[1], 2 ** 31 - 1);
});
