import assert from "node:assert/strict";
import { test } from "node:test";
import { createPulse } from "../../src/lib/pulse.ts";

test("onNext() calls every waiter once, at the next beat", () => {
  const pulse = createPulse();
  const beats: string[] = [];
  pulse.beat();
  for (const name of ["one", "other"]) pulse.onNext(() => beats.push(name));
  assert.deepEqual(beats, []);
  pulse.beat();
  pulse.beat();
  assert.deepEqual(beats, ["one", "other"]);
});

test("a canceled waiter is not called, and one added during a beat is called at the next", () => {
  const pulse = createPulse();
  const beats: string[] = [];
  const forget = pulse.onNext(() => beats.push("forgotten"));
  pulse.onNext(() => pulse.onNext(() => beats.push("again")));
  forget();
  pulse.beat();
  assert.deepEqual(beats, []);
  pulse.beat();
  assert.deepEqual(beats, ["again"]);
});
