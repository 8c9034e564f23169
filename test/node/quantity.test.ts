import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatCores } from "../../src/node/quantity.ts";

test("formatCores() writes whole cores plainly and parts in thousandths", () => {
  assert.deepEqual([4, 3.6, 0.5, 1.9999, 0].map(formatCores), ["4", "3600m", "500m", "1999m", "0"]);
});

test("formatBytes() uses the largest unit without a fraction, and drops less than a KiB", () => {
  const kib = 1024;
  const amounts = [24_682_416 * kib, 8 * 1024 ** 3, 1536 * 1024 ** 2, 1024 ** 4, 5 * kib + 7, 0, 100];
  assert.deepEqual(amounts.map(formatBytes), ["24682416Ki", "8Gi", "1536Mi", "1Ti", "5Ki", "0", "0"]);
});
