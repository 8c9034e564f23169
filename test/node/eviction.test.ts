import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseEviction, criticalPriority, type EvictionCandidate } from "../../src/node/eviction.ts";

const mebibyte = 1 << 20;
const app = (key: string, change: Partial<EvictionCandidate> = {}): EvictionCandidate => ({
  key,
  priority: 0,
  memoryBytes: 100 * mebibyte,
  memoryLimitBytes: 200 * mebibyte,
  ...change,
});
const choose = (...apps: EvictionCandidate[]) => chooseEviction(apps, "little memory")?.key;

test("chooseEviction() chooses the lowest priority, however little it uses", () => {
  assert.equal(
    choose(app("big", { priority: 10, memoryBytes: 199 * mebibyte }), app("low", { memoryBytes: 1 })),
    "low",
  );
});

test("chooseEviction() chooses, among equals, an app without a cap, then the app that fills its cap the most", () => {
  const full = app("full", { memoryBytes: 190 * mebibyte });
  const half = app("half", { memoryBytes: 5000 * mebibyte, memoryLimitBytes: 10_000 * mebibyte });
  const uncapped = app("uncapped", { memoryBytes: 10 * mebibyte, memoryLimitBytes: undefined });
  assert.equal(choose(half, uncapped, full), "uncapped");
  assert.equal(choose(half, full), "full");
});

test("chooseEviction() chooses the largest of several without a cap, and always the same one of equals", () => {
  const uncapped = { memoryLimitBytes: undefined };
  assert.equal(choose(app("a", uncapped), app("b", { ...uncapped, memoryBytes: 101 * mebibyte })), "b");
  assert.equal(choose(app("b"), app("a")), "a");
});

test("chooseEviction() evicts one app at a time, and does not wait forever for one that does not end", () => {
  assert.equal(choose(app("a"), app("ending", { stoppingMs: 59_000 })), undefined);
  assert.equal(choose(app("a"), app("ending", { stoppingMs: 61_000 })), "a");
});

test("chooseEviction() spares critical apps and apps that use nothing", () => {
  assert.equal(
    choose(app("critical", { priority: criticalPriority }), app("idle", { memoryBytes: 0 })),
    undefined,
  );
  assert.equal(choose(), undefined);
});

test("chooseEviction() explains its choice", () => {
  assert.equal(
    chooseEviction([app("a", { priority: -5 })], "90 of 8192 MiB of memory are available")?.message,
    "90 of 8192 MiB of memory are available; the app uses 100 MiB of the 200 MiB that it may have, at priority -5",
  );
  assert.match(
    chooseEviction([app("a", { memoryLimitBytes: undefined })], "x")!.message,
    /uses 100 MiB without a cap/,
  );
});
