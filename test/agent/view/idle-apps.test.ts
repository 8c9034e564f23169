import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdleApps } from "../../../src/agent/view/idle-apps.ts";
import { zeroReading } from "../../../src/supervisor/metering.ts";

const readingOf = (cpuSeconds: number) => {
  const { at, usage } = zeroReading(0);
  return { at, usage: { ...usage, cpuSeconds } };
};

test("an app is idle if it used no CPU between two readings, and not where there are no two", () => {
  let reading: ReturnType<typeof readingOf> | undefined;
  const { isIdle, forget } = createIdleApps(() => reading);
  const see = (cpuSeconds: number | undefined) => {
    reading = cpuSeconds === undefined ? undefined : readingOf(cpuSeconds);
    return isIdle("default/web");
  };
  assert.equal(see(undefined), false, "it was never measured");
  assert.equal(see(1), false, "it was measured once");
  assert.equal(isIdle("default/web"), false, "it was not measured since");
  assert.equal(see(1), true);
  assert.equal(see(1.01), false, "it worked");
  assert.equal(see(1.01), true);
  assert.equal(see(0), false, "another run has begun");
  assert.equal(see(undefined), false, "it does not run");
  assert.equal(see(0), false, "what was known before it stopped counts no more");
  forget("default/web");
  assert.equal(see(0), false, "another app of the name has begun");
});
