import assert from "node:assert/strict";
import { test } from "node:test";
import { StepLoop } from "../../../src/supervisor/runner/step-loop.ts";
import { waitFor } from "../../wait-for.ts";

/** A loop whose steps end when they are let go. */
function createLoop(results: (boolean | Error)[] = [], quickChecks: (boolean | Error)[] = []) {
  const waiting: (() => void)[] = [];
  const state = { begun: 0, active: 0, most: 0, quickChecks: 0, errors: [] as string[] };
  const loop = new StepLoop({
    async step() {
      state.begun++;
      state.most = Math.max(state.most, ++state.active);
      await new Promise<void>((resolve) => waiting.push(resolve));
      state.active--;
      const result = results.shift() ?? false;
      if (result instanceof Error) throw result;
      return result;
    },
    async quickCheck() {
      state.quickChecks++;
      const result = quickChecks.shift() ?? false;
      if (result instanceof Error) throw result;
      return result;
    },
    onError: (error) => void state.errors.push((error as Error).message),
    now: () => 0,
  });
  const finishOne = async () => {
    const begun = await waitFor("a step is under way", () => waiting.shift());
    begun();
    await waitFor("it is over", () => state.active === waiting.length);
  };
  return { loop, state, finishOne };
}

test("pokes during a step lead to one more step, never to two at a time", async () => {
  const { loop, state, finishOne } = createLoop();
  for (let n = 0; n < 3; n++) loop.poke();
  assert.equal(state.begun, 1);
  await finishOne();
  await waitFor("the second step", () => state.begun === 2);
  await finishOne();
  await loop.close();
  assert.deepEqual([state.begun, state.most], [2, 1]);
});

test("a step that asks for another gets it at once", async () => {
  const { loop, state, finishOne } = createLoop([true, false]);
  loop.poke();
  await finishOne();
  await finishOne();
  await loop.close();
  assert.equal(state.begun, 2);
});

test("a step that throws is reported, and a poke still leads to the next", async () => {
  const { loop, state, finishOne } = createLoop([new Error("no disk")]);
  loop.poke();
  await finishOne();
  await waitFor("the trouble is told", () => state.errors.length === 1);
  loop.poke();
  await finishOne();
  await loop.close();
  assert.deepEqual([state.begun, state.errors], [2, ["no disk"]]);
});

test("close() waits for the step under way, and none begins after it", async () => {
  const { loop, state, finishOne } = createLoop([true]);
  loop.poke();
  loop.poke();
  let closed = false;
  const closing = loop.close().then(() => closed = true);
  await Promise.resolve();
  assert.equal(closed, false);
  await finishOne();
  await closing;
  loop.wakeAt(0);
  loop.poke();
  assert.equal(state.begun, 1);
});

test("a quick check leads to a step only if it returns true, and none is made during a step", async () => {
  const { loop, state, finishOne } = createLoop([], [false, true]);
  loop.check();
  loop.check();
  await waitFor("the first quick check is over", () => {
    if (state.quickChecks === 1) loop.check();
    return state.quickChecks === 2;
  });
  await waitFor("a step", () => state.begun === 1);
  loop.check();
  await finishOne();
  await loop.close();
  assert.deepEqual([state.quickChecks, state.begun], [2, 1]);
});

test("a quick check leaves the timer alone, and its error is reported", async () => {
  const { loop, state, finishOne } = createLoop([], [false, new Error("no cgroup")]);
  loop.wakeAt(10);
  loop.check();
  await finishOne();
  loop.check();
  await waitFor("the trouble is told", () => state.errors.length === 1);
  await loop.close();
  assert.deepEqual([state.begun, state.errors], [1, ["no cgroup"]]);
});
