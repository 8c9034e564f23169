import assert from "node:assert/strict";
import { test } from "node:test";
import { type MemoryState, nextResizeStep } from "../../../cgroups/limits/resize.ts";

const MIB = 1024 ** 2;

/** A kernel that reclaims down to memory.high, but not below `held`, and would kill above memory.max. */
function settle(start: MemoryState, wanted: number, held: number) {
  const state = { ...start };
  const writes: string[] = [];
  for (;;) {
    const step = nextResizeStep(state, wanted);
    if (step.kind !== "write") return { end: step.kind, writes, state };
    assert.ok(writes.length < 4, `no end: ${writes}`);
    const value = step.value === "max" ? Infinity : Number(step.value);
    if (step.file === "memory.high") {
      state.high = value;
      state.current = Math.max(held, Math.min(state.current, value));
    } else {
      assert.ok(value >= state.current, `memory.max ${value} under a use of ${state.current} kills`);
      state.max = value;
    }
    writes.push(`${step.file.slice(7)}=${step.value === "max" ? "max" : Math.round(value / MIB)}`);
  }
}

test("a fresh cgroup gets its cap in one write", () => {
  const fresh = { max: Infinity, high: Infinity, current: 0 };
  assert.deepEqual(settle(fresh, 100 * MIB, 0).writes, ["max=100"]);
});

test("nothing is written when the cap is in place", () => {
  const state = { max: 100 * MIB, high: Infinity, current: 99 * MIB };
  assert.deepEqual(settle(state, 100 * MIB, 0), { end: "done", writes: [], state });
});

test("growing writes the cap and ends throttling", () => {
  assert.deepEqual(settle({ max: 100 * MIB, high: 64 * MIB, current: 90 * MIB }, 200 * MIB, 0).writes, [
    "max=200",
    "high=max",
  ]);
  assert.deepEqual(settle({ max: 100 * MIB, high: Infinity, current: 100 * MIB }, Infinity, 0).writes, [
    "max=max",
  ]);
});

test("shrinking to a cap above the usage needs no throttling", () => {
  assert.deepEqual(settle({ max: 200 * MIB, high: Infinity, current: 50 * MIB }, 100 * MIB, 0).writes, [
    "max=100",
  ]);
});

test("shrinking below the usage throttles, and caps once the kernel has reclaimed enough", () => {
  const { end, writes, state } = settle(
    { max: 200 * MIB, high: Infinity, current: 180 * MIB },
    128 * MIB,
    30 * MIB,
  );
  assert.equal(end, "done");
  assert.deepEqual(writes, ["high=126", "max=128", "high=max"]);
  assert.equal(state.max, 128 * MIB);
});

test("shrinking below what the app holds stays pending, with throttling and a bound just above its use", () => {
  const { end, writes, state } = settle(
    { max: 200 * MIB, high: Infinity, current: 180 * MIB },
    128 * MIB,
    150 * MIB,
  );
  assert.equal(end, "pending");
  assert.deepEqual(writes, ["high=126", "max=152"]);
  const bound = 152.375 * MIB;
  assert.deepEqual(state, { max: bound, high: 126 * MIB, current: 150 * MIB });
  const step = nextResizeStep(state, 128 * MIB);
  assert.deepEqual(step, {
    kind: "pending",
    pending: {
      wantedBytes: 128 * MIB,
      currentBytes: 150 * MIB,
      message: `${150 * MIB} bytes in use, the new cap is ${128 * MIB}: waiting for the app to use less`,
    },
  });
});

test("a pending shrink continues when the app frees memory, and a larger cap undoes it", () => {
  const pending = { max: 200 * MIB, high: 126 * MIB, current: 150 * MIB };
  assert.deepEqual(settle({ ...pending, current: 100 * MIB }, 128 * MIB, 0).writes, ["max=128", "high=max"]);
  assert.deepEqual(settle(pending, 200 * MIB, 150 * MIB).writes, ["high=max"]);
  assert.deepEqual(settle(pending, 192 * MIB, 150 * MIB).writes, ["max=192", "high=max"]);
});

test("no sequence from any state to any cap sets the cap below the usage", () => {
  const sizes = [1, 2, 64, 128, 129, 200].map((size) => size * MIB);
  for (const max of [...sizes, Infinity]) {
    for (const high of [...sizes, Infinity]) {
      for (const current of sizes.filter((size) => size <= max)) {
        for (const held of sizes.filter((size) => size <= current)) {
          for (const wanted of [...sizes, Infinity]) settle({ max, high, current }, wanted, held);
        }
      }
    }
  }
});
