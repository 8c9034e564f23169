import assert from "node:assert/strict";
import { test } from "node:test";
import { createPulse } from "../../src/lib/pulse.ts";

test("next() resolves with the next beat, for all who wait, and not with one before", async () => {
  const pulse = createPulse();
  const beats: string[] = [];
  pulse.beat();
  for (const name of ["one", "other"]) void pulse.next().then(() => beats.push(name));
  await Promise.resolve();
  assert.deepEqual(beats, []);
  pulse.beat();
  await Promise.resolve();
  assert.deepEqual(beats, ["one", "other"]);
});
