import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  cpuPercentSince,
  parsePressure,
  readPressure,
  readStats,
  type Stats,
  throttledPercentSince,
} from "../../cgroups/mod.ts";
import { tempFolder } from "../temp-folder.ts";

// Read from a cgroup on Linux 6.1 that was throttled, wrote 10 MiB and lost three processes to one OOM kill;
// the pressure files are from 6.18.
const fixtures = new URL("./fixtures/stats", import.meta.url).pathname;

test("readStats() reads the figures of every controller", () => {
  const stats = readStats(fixtures, { now: () => 5000, pressure: true })!;
  assert.equal(stats.at, 5000);
  assert.ok(
    stats.cpu.usageUsec > 1_000_000 && stats.cpu.throttledPeriods > 10 && stats.cpu.throttledUsec > 0,
  );
  assert.ok(stats.cpu.userUsec + stats.cpu.systemUsec <= stats.cpu.usageUsec + 20_000);
  assert.equal(stats.memory?.oomKills, 3);
  assert.equal(stats.memory?.oomGroupKills, 1);
  assert.equal(stats.memory?.peakBytes, 20 * 1024 * 1024);
  assert.ok(stats.memory!.currentBytes > 0 && stats.memory!.atMax > 0);
  assert.deepEqual(stats.pids, { current: 1 });
  assert.deepEqual(stats.io, { readBytes: 1024, writtenBytes: 10_485_760 });
  assert.ok(stats.pressure!.cpu!.some.avg10 > 0);
});

test("readStats() leaves out what the kernel or the cgroup does not have", (t) => {
  const dir = tempFolder(t).path;
  copyFileSync(join(fixtures, "cpu.stat"), join(dir, "cpu.stat"));
  const stats = readStats(dir, { pressure: true })!;
  assert.ok(stats.cpu.usageUsec > 0);
  assert.deepEqual([stats.memory, stats.pids, stats.io, stats.pressure], [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("readStats() leaves the controllers alone that nobody asked for", () => {
  const { memory, pids, io } = readStats(fixtures, { controllers: ["pids"] })!;
  assert.deepEqual([memory, io], [undefined, undefined]);
  assert.ok(pids);
});

test("readStats() is undefined for a cgroup that is gone", () => {
  assert.equal(readStats("/nowhere/at/all"), undefined);
});

test("readPressure() reads some and full of each resource", () => {
  const pressure = readPressure(fixtures)!;
  assert.ok(pressure.cpu!.full);
  assert.ok(pressure.io!.some.totalUsec > 0);
  assert.equal(pressure.memory, undefined);
});

test("parsePressure() takes kernels that have no full line for the CPU", () => {
  assert.deepEqual(parsePressure("some avg10=1.50 avg60=0.20 avg300=0.00 total=42\n"), {
    some: { avg10: 1.5, avg60: 0.2, avg300: 0, totalUsec: 42 },
    full: undefined,
  });
});

test("cpuPercentSince() is the share of the whole node", () => {
  assert.equal(cpuPercentSince(reading(0, 0), reading(1000, 500_000), 1), 50);
  assert.equal(cpuPercentSince(reading(0, 0), reading(1000, 500_000), 4), 12.5);
});

test("cpuPercentSince() is undefined where two readings cannot be compared", () => {
  assert.equal(cpuPercentSince(reading(1000, 0), reading(1000, 10), 1), undefined);
  assert.equal(cpuPercentSince(reading(0, 900), reading(1000, 10), 1), undefined);
});

test("throttledPercentSince() is the share of periods at the cap", () => {
  assert.equal(throttledPercentSince(reading(0, 0, 10, 5), reading(1, 0, 20, 10)), 50);
  assert.equal(throttledPercentSince(reading(0, 0, 10, 5), reading(1, 0, 10, 5)), 0);
  assert.equal(throttledPercentSince(reading(0, 0, 10, 5), reading(1, 0, 3, 1)), undefined);
});

function reading(at: number, usageUsec: number, periods = 0, throttledPeriods = 0): Stats {
  const cpu = { usageUsec, userUsec: 0, systemUsec: 0, periods, throttledPeriods, throttledUsec: 0 };
  return { at, cpu, memory: undefined, pids: undefined, io: undefined, pressure: undefined };
}
