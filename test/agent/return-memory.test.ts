import assert from "node:assert/strict";
import { test } from "node:test";
import { createCollectTimes } from "../../src/agent/return-memory.ts";

test("garbage is collected once after the start, once after each busy time, and never in one", () => {
  const isTime = createCollectTimes();
  const seen = [0.5, 0.3, 0.01, 0.01, 0.01, 0.4, 0.9, 0.02, 0].map(isTime);
  assert.deepEqual(seen, [false, false, true, false, false, false, false, true, false]);
});

test("a quiet agent collects every ten minutes", () => {
  const isTime = createCollectTimes();
  const seen = Array.from({ length: 360 }, () => isTime(0));
  assert.deepEqual(seen.flatMap((is, at) => is ? [at] : []), [0, 120, 240]);
});
