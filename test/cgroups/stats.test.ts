import assert from "node:assert/strict";
import { copyFileSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readStats } from "../../cgroups/mod.ts";
import { tempFolder } from "../temp-folder.ts";

// From a cgroup on Linux 6.1 that was throttled and lost three processes to one OOM kill.
const fixtures = new URL("./fixtures/stats", import.meta.url).pathname;

test("readStats() reads the usage of every controller", () => {
  const { cpu, memory } = readStats(fixtures)!;
  assert.ok(cpu.usageUsec > 1_000_000 && cpu.throttledUsec > 0);
  assert.equal(memory?.kills.processes, 3);
  assert.equal(memory?.kills.groups, 1);
  assert.ok(memory!.currentBytes > 0);
});

test("readStats() omits what the kernel or the cgroup does not have", (t) => {
  const dir = tempFolder(t).path;
  copyFileSync(join(fixtures, "cpu.stat"), join(dir, "cpu.stat"));
  const { cpu, memory } = readStats(dir)!;
  assert.ok(cpu.usageUsec > 0);
  assert.equal(memory, undefined);
});

test("readStats() omits the memory that the caller did not request", () => {
  const { cpu, memory } = readStats(fixtures, { hasMemory: false })!;
  assert.ok(cpu.usageUsec > 0);
  assert.equal(memory, undefined);
});

test("readStats() is undefined for a cgroup that is gone", () => {
  assert.equal(readStats("/nowhere/at/all"), undefined);
});

test("readStats() names the file and the text of a figure that is no number", (t) => {
  const dir = tempFolder(t).path;
  cpSync(fixtures, dir, { recursive: true });
  for (const text of ["", "many", "1 2"]) {
    writeFileSync(join(dir, "memory.current"), text);
    assert.throws(() => readStats(dir), {
      name: "CgroupError",
      message: `cannot parse ${JSON.stringify(text)} in ${join(dir, "memory.current")}: not a number`,
    });
  }
});
