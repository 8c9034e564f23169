import assert from "node:assert/strict";
import { readFileSync, statSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { ensureLimits, limitsFor, verifyLimits } from "../../../cgroups/mod.ts";
import { fakeCgroup } from "../folder.ts";

const LIMITS = limitsFor({ cpuPCT: 20, memPCT: 10, pidsMax: 50 }, { cpus: 1, memoryBytes: 10 * 65_536 });
const IN_PLACE = {
  "cpu.max": "20000 100000\n",
  "pids.max": "50\n",
  "memory.oom.group": "1\n",
  "memory.swap.max": "0\n",
  "memory.max": "65536\n",
  "memory.high": "max\n",
  "memory.current": "4096\n",
};

test("ensureLimits() only reads when everything is in place", async (t) => {
  const dir = fakeCgroup(t, IN_PLACE);
  const before = Object.keys(IN_PLACE).map((file) => statSync(`${dir}/${file}`, { bigint: true }).mtimeNs);
  assert.deepEqual(await ensureLimits(dir, LIMITS), { changed: [] });
  assert.deepEqual(
    Object.keys(IN_PLACE).map((file) => statSync(`${dir}/${file}`, { bigint: true }).mtimeNs),
    before,
  );
});

test("ensureLimits() restores drifted limits, and returns them", async (t) => {
  const dir = fakeCgroup(t, { ...IN_PLACE, "pids.max": "99\n" });
  assert.deepEqual(await ensureLimits(dir, LIMITS), { changed: [{ file: "pids.max", value: "50" }] });
  assert.equal(readFileSync(`${dir}/pids.max`, "utf8"), "50\n");
});

test("ensureLimits() throws if a file reads back differently", async (t) => {
  // A plain file keeps the end of a longer text, as no kernel file does.
  const dir = fakeCgroup(t, { ...IN_PLACE, "pids.max": "1234\n" });
  await assert.rejects(ensureLimits(dir, LIMITS), {
    name: "CgroupError",
    message: `wrote "50" to ${dir}/pids.max, but it reads "5034"`,
    code: "EREADBACK",
  });
  const other = fakeCgroup(t, { ...IN_PLACE, "memory.max": "12345678\n" });
  await assert.rejects(ensureLimits(other, LIMITS), {
    code: "EREADBACK",
    message: /memory\.max, but it reads/,
  });
});

test("ensureLimits() throws for a missing file, and names file, value and errno", async (t) => {
  const { "cpu.max": _, ...rest } = IN_PLACE;
  const dir = fakeCgroup(t, rest);
  await assert.rejects(ensureLimits(dir, LIMITS), {
    message: `cannot write "20000 100000" to ${dir}/cpu.max: ENOENT`,
    code: "ENOENT",
  });
});

test("ensureLimits() passes on the errno and the cause of a refused write", async (t) => {
  const { "pids.max": _, ...rest } = IN_PLACE;
  const dir = fakeCgroup(t, rest);
  // Readable, but not writable: root gets EIO, other users EACCES.
  symlinkSync("/proc/version", `${dir}/pids.max`);
  await assert.rejects(ensureLimits(dir, LIMITS), (error: Error & { code?: string }) => {
    assert.match(error.message, /^cannot write "50" to .*\/pids.max: (EIO|EACCES)$/);
    assert.equal((error.cause as { code?: string }).code, error.code);
    return true;
  });
});

test("ensureLimits() needs no swap cap on a kernel without swap accounting and swap", async (t) => {
  const { "memory.swap.max": _, ...rest } = IN_PLACE;
  const dir = fakeCgroup(t, rest);
  assert.deepEqual(await ensureLimits(dir, LIMITS, { swapIsOn: () => false }), { changed: [] });
  await assert.rejects(ensureLimits(dir, LIMITS, { swapIsOn: () => true }), {
    message: /memory\.swap\.max: ENOENT$/,
  });
});

test("ensureLimits() needs no files without caps", async (t) => {
  const none = LIMITS.map(({ file }) => ({ file, value: "max" })).filter(({ file }) =>
    file !== "memory.oom.group"
  );
  assert.deepEqual(await ensureLimits(fakeCgroup(t), none), { changed: [] });
});

test("ensureLimits() returns a shrink that must wait", async (t) => {
  const dir = fakeCgroup(t, { ...IN_PLACE, "memory.max": "655360\n", "memory.current": "300000\n" });
  const { changed, pending } = await ensureLimits(dir, LIMITS);
  assert.deepEqual([pending?.wantedBytes, pending?.currentBytes], [65_536, 300_000]);
  assert.deepEqual(changed, [{ file: "memory.high", value: "65536" }]);
  assert.equal(readFileSync(`${dir}/memory.max`, "utf8"), "655360\n");
});

test("verifyLimits() lists the limits that differ", (t) => {
  const { "cpu.max": _, ...rest } = IN_PLACE;
  const dir = fakeCgroup(t, { ...rest, "memory.oom.group": "0\n" });
  assert.deepEqual(verifyLimits(dir, LIMITS), [
    { file: "cpu.max", value: "20000 100000", actual: undefined },
    { file: "memory.oom.group", value: "1", actual: "0" },
  ]);
  assert.deepEqual(verifyLimits(fakeCgroup(t, IN_PLACE), LIMITS), []);
});
