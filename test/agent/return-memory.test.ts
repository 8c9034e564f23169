import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createCollectTimes, findTrim } from "../../src/agent/return-memory.ts";

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

test("memory that was freed between parts in use goes back to the system", {
  skip: "Deno" in globalThis && "no FFI",
}, () => {
  const anonymousKB = () =>
    Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  const parts = Array.from({ length: 4096 }, () => new Uint8Array(16 << 10).fill(1).buffer);
  const used = anonymousKB();
  // Frees them at once, except the last.
  for (const part of parts.slice(0, -1)) part.transfer(0);
  findTrim()!();
  assert.ok(anonymousKB() < used - (48 << 10), `${used} kB before, ${anonymousKB()} kB after`);
});
