import assert from "node:assert/strict";
import { test } from "node:test";
import { countDown } from "../../src/lib/time.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const shown = (time: string) => countDown(`restarting at ${time}; more`, now);

test("countDown() counts to the times of the next hour, and leaves others as they are", () => {
  assert.equal(shown("2026-01-01T00:00:20Z"), "restarting in 20 s; more");
  assert.equal(shown("2026-01-01T00:05:00Z"), "restarting in 5 min; more");
  for (const time of ["2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z", "2026-01-01T01:00:00Z", "soon"]) {
    assert.equal(shown(time), `restarting at ${time}; more`);
  }
});
