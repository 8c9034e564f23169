import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryThreshold, noPressure, type Pressures, stepPressure } from "../../src/node/pressure.ts";
import type { NodeUsage } from "../../src/node/usage.ts";
import { calmUsage, gibibyte, start } from "./samples.ts";

const mebibyte = 1 << 20;
const availableMiB = (available: number): NodeUsage => ({
  ...calmUsage,
  memoryAvailableBytes: available * mebibyte,
});
const step = (before: Pressures, usage: NodeUsage, seconds = 0) =>
  stepPressure(before, usage, start + seconds * 1000);
const calm = noPressure;

test("memoryThreshold() is 100 MiB, more on large machines and less on small ones", () => {
  const inMiB = (gib: number) => Math.round(memoryThreshold(gib * gibibyte) / mebibyte);
  assert.deepEqual([0.5, 1, 4, 64].map(inMiB), [51, 100, 100, 1311]);
});

test("stepPressure() is calm on a calm node", () => {
  assert.deepEqual(step(calm, calmUsage, 10), calm);
});

test("stepPressure() starts at once and names what is short", () => {
  // 8 GiB: the threshold is 164 MiB.
  const { memory, disk, pid } = step(calm, availableMiB(163), 5);
  assert.deepEqual(memory, {
    active: true,
    short: true,
    message: "163 of 8192 MiB of memory are available",
  });
  assert.deepEqual([disk.active, pid.active], [false, false]);
});

test("stepPressure() ends only after a minute well above the threshold", () => {
  let state = step(calm, availableMiB(100));
  state = step(state, availableMiB(90), 5);
  state = step(state, availableMiB(200), 10);
  assert.deepEqual([state.memory.active, state.memory.short], [true, false]);
  state = step(state, availableMiB(300), 20);
  state = step(state, availableMiB(300), 79);
  assert.equal(state.memory.active, true);
  state = step(state, availableMiB(300), 80);
  assert.deepEqual(state.memory, { active: false, short: false, message: "" });
});

test("stepPressure() restarts the minute when memory gets short again", () => {
  let state = step(calm, availableMiB(100));
  for (const [available, second] of [[300, 10], [200, 50], [300, 60], [300, 110]] as const) {
    state = step(state, availableMiB(available), second);
  }
  assert.equal(state.memory.active, true);
  assert.equal(step(state, availableMiB(300), 120).memory.active, false);
});

test("stepPressure() never flaps between its thresholds", () => {
  for (const before of [calm, step(calm, availableMiB(100))]) {
    let state = before;
    for (let second = 0; second < 600; second++) state = step(state, availableMiB(165 + second % 80), second);
    assert.equal(state.memory.active, before.memory.active);
  }
});

test("stepPressure() counts a stall only if memory is about to run out", () => {
  const stall = (available: number) => step(calm, { ...availableMiB(available), memoryStallPCT: 35 }).memory;
  assert.equal(stall(5000).active, false);
  assert.equal(
    stall(300).message,
    "300 of 8192 MiB of memory are available, all work waits for memory 35% of the time",
  );
});

test("stepPressure() watches space and inodes of the disk", () => {
  const disk = (change: Partial<NonNullable<NodeUsage["disk"]>>) =>
    step(calm, { ...calmUsage, disk: { ...calmUsage.disk!, ...change } }).disk;
  assert.equal(disk({ availableBytes: 3.9 * gibibyte }).message, "3994 of 102400 MiB of disk are available");
  assert.equal(disk({ availableBytes: 4 * gibibyte }).active, false);
  assert.equal(disk({ availableBytes: 0.9 * gibibyte, totalBytes: 10 * gibibyte }).active, true);
  assert.equal(disk({ freeInodes: 49 }).message, "49 of 1000 inodes are free");
  assert.equal(disk({ freeInodes: 0, inodes: 0 }).active, false);
});

test("stepPressure() keeps the state of a disk that cannot be read", () => {
  const short = step(calm, { ...calmUsage, disk: { ...calmUsage.disk!, availableBytes: 1 } });
  assert.equal(step(short, { ...calmUsage, disk: undefined }, 600).disk.active, true);
  assert.equal(step(calm, { ...calmUsage, disk: undefined }, 600).disk.active, false);
});

test("stepPressure() watches process ids if they are limited", () => {
  const pid = (threads: number, maxThreads: number) => step(calm, { ...calmUsage, threads, maxThreads }).pid;
  assert.equal(pid(901, 1000).message, "901 of 1000 process ids are in use");
  assert.equal(pid(899, 1000).active, false);
  assert.equal(pid(1_000_000, Infinity).active, false);
});
