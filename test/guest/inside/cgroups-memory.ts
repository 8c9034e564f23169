/** Memory caps on a real kernel: which processes an OOM kill ends, and how the cap of a running app changes. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import {
  ensureLimits,
  limitsFor,
  listProcesses,
  readStats,
  verifyLimits,
  waitUntilEmpty,
  watchEmpty,
} from "../../../cgroups/mod.ts";
import { stayAlive } from "../../stay-alive.ts";
import { waitFor } from "../../wait-for.ts";
import { exitOf, firstLine, makeApp, MIB, NODE, startRun } from "./cgroups-app.ts";

const guestIsOwn = process.env["CGROUP_ROOT"] === "/sys/fs/cgroup";
/** A file of 90 MiB that no process in the guest has read. */
const UNREAD_FILE = new URL("../../../node_modules/deno/deno", import.meta.url).pathname;
const ALLOCATE_200_MIB = "dd if=/dev/zero of=/dev/null bs=200M count=1 2> /dev/null";

test("an allocator is killed at the cap with its whole group, 20 times of 20, and its neighbor survives", async (t) => {
  using _alive = stayAlive();
  const dir = await makeApp(t, "greedy", { memPCT: 4, oomPolicy: "Group" });
  const neighbor = await makeApp(t, "neighbor", { memPCT: 4 });
  const { child: innocent } = startRun(neighbor, "exec sleep 1000");
  const gate = makeFifo();

  for (let time = 1; time <= 20; time++) {
    const before = readStats(dir)!.memory!;
    const { child, leaf } = startRun(
      dir,
      `read -r _ < ${gate}; sleep 1000 & sleep 1000 & ${ALLOCATE_200_MIB}; sleep 1000`,
      `run${time}`,
    );
    // A watch reports only the end of what it has seen alive.
    await waitFor("the app is in its cgroup", () => listProcesses(leaf).length > 0);
    const { promise: ended, resolve: onEmpty } = Promise.withResolvers<void>();
    const watched = watchEmpty(dir, onEmpty);
    t.after(() => watched.close());
    await writeFile(gate, "\n");
    assert.deepEqual(await exitOf(child), [null, "SIGKILL"], `time ${time}`);
    assert.ok(await waitUntilEmpty(leaf, { timeoutMs: 30_000 }), `time ${time}: a process survived`);
    await ended;
    watched.close();
    const stats = readStats(dir)!.memory!;
    assert.equal(stats.kills.groups! - before.kills.groups!, 1, `time ${time}`);
    assert.ok(
      stats.kills.processes - before.kills.processes >= 4,
      `time ${time}: each of the four processes was counted`,
    );
    assert.ok(Number(readFileSync(join(dir, "memory.peak"), "latin1")) <= 0.04 * NODE.memoryBytes);
  }
  assert.equal(innocent.exitCode, null);
  assert.equal(readStats(neighbor)!.memory!.kills.processes, 0);
  assert.equal(listProcesses(neighbor).length, 1);
});

test("the Process policy kills only the allocator", async (t) => {
  const dir = await makeApp(t, "single", { memPCT: 4, oomPolicy: "Process" });
  const { child } = startRun(dir, `sleep 1000 & ${ALLOCATE_200_MIB}; echo "ended $?"; wait`);
  assert.equal(await firstLine(child), "ended 137");
  assert.equal(listProcesses(dir).length, 2);
  assert.equal(readStats(dir)!.memory!.kills.processes, 1);
});

test("the cap of a running app grows", async (t) => {
  const dir = await makeApp(t, "growing", { memPCT: 4 });
  assert.deepEqual(await ensureLimits(dir, limits(30)), {
    changed: [{ file: "memory.max", value: String(300 * MIB) }],
  });
  const { child } = startRun(dir, `${ALLOCATE_200_MIB}; echo "ended $?"`);
  assert.equal(await firstLine(child), "ended 0");
});

test("a cap that shrinks below the usage waits for the app, and kills nothing", async (t) => {
  const dir = await makeApp(t, "shrinking", { memPCT: 20 });
  const { child, release } = await holdMemory(t, dir, 120);
  const before = listProcesses(dir).sort();

  for (let sync = 0; sync < 3; sync++) {
    const { pending } = await ensureLimits(dir, limits(6));
    assert.ok(pending);
    assert.equal(pending.wantedBytes, 60 * MIB);
    assert.ok(pending.currentBytes > 120 * MIB, `${pending.currentBytes} in use`);
    const bound = Number(read(dir, "memory.max"));
    assert.ok(bound >= pending.currentBytes && bound < 130 * MIB, `it may grow to ${bound}`);
    assert.ok(Number(read(dir, "memory.high")) <= 60 * MIB);
  }
  assert.deepEqual(verifyLimits(dir, limits(6)).map(({ file }) => file), ["memory.max", "memory.high"]);
  assert.deepEqual(listProcesses(dir).sort(), before);

  release();
  await waitFor("the memory is free", () => readStats(dir)!.memory!.currentBytes < 60 * MIB);
  const done = await ensureLimits(dir, limits(6));
  assert.equal(done.pending, undefined);
  assert.deepEqual(verifyLimits(dir, limits(6)), []);
  assert.deepEqual(await ensureLimits(dir, limits(6)), { changed: [] });
  assert.equal(child.exitCode, null);
  assert.equal(readStats(dir)!.memory!.kills.processes, 0);
});

test("a larger cap undoes a pending shrink", async (t) => {
  const dir = await makeApp(t, "undecided", { memPCT: 20 });
  await holdMemory(t, dir, 120);
  assert.ok((await ensureLimits(dir, limits(6))).pending);
  assert.deepEqual(await ensureLimits(dir, limits(30)), {
    changed: [{ file: "memory.max", value: String(300 * MIB) }, { file: "memory.high", value: "max" }],
  });
  assert.equal(readStats(dir)!.memory!.kills.processes, 0);
});

test("a cap shrinks at once if the kernel can reclaim file pages", async (t) => {
  const dir = await makeApp(t, "reader", { memPCT: 20 });
  const { child } = startRun(dir, `cat '${UNREAD_FILE}' > /dev/null; echo read; exec sleep 1000`);
  assert.equal(await firstLine(child), "read");
  // On a machine that has read the file before, the pages are not charged to the app.
  if (guestIsOwn) assert.ok(readStats(dir)!.memory!.currentBytes > 60 * MIB);
  const { pending } = await ensureLimits(dir, limits(6));
  assert.equal(pending, undefined);
  assert.equal(read(dir, "memory.max"), String(60 * MIB));
  assert.equal(read(dir, "memory.high"), "max");
  assert.equal(child.exitCode, null);
  assert.equal(readStats(dir)!.memory!.kills.processes, 0);
});

test("what an app as root wrote to protect itself does not keep its caps from being lowered", async (t) => {
  const dir = await makeApp(t, "protected", { cpuPCT: 40, memPCT: 20 });
  const writes = "echo 40000 > cpu.max.burst; echo 50M > memory.low; echo 50M > memory.min";
  execFileSync("sh", ["-c", writes], { cwd: dir });
  await ensureLimits(dir, limitsFor({ cpuPCT: 20, memPCT: 10 }, NODE));
  assert.deepEqual(["cpu.max", "cpu.max.burst", "memory.low", "memory.min"].map((file) => read(dir, file)), [
    "20000 100000",
    "0",
    "0",
    "0",
  ]);
});

test("changed limits are restored, and nothing else is written", async (t) => {
  const spec = { cpuPCT: 20, memPCT: 10, pidsMax: 50 };
  const dir = await makeApp(t, "drifting", spec);
  assert.deepEqual(await ensureLimits(dir, limitsFor(spec, NODE)), { changed: [] });
  execFileSync("sh", ["-c", "echo max > cpu.max; echo 0 > memory.oom.group"], { cwd: dir });
  assert.deepEqual(verifyLimits(dir, limitsFor(spec, NODE)), [
    { file: "cpu.max", value: "20000 100000", actual: "max 100000" },
    { file: "memory.oom.group", value: "1", actual: "0" },
  ]);
  const { changed } = await ensureLimits(dir, limitsFor(spec, NODE));
  assert.deepEqual(changed.map(({ file }) => file), ["cpu.max", "memory.oom.group"]);
  assert.deepEqual(verifyLimits(dir, limitsFor(spec, NODE)), []);
});

test("a value that the kernel rejects is an error that names file, value and errno", async (t) => {
  const dir = await makeApp(t, "refused");
  await assert.rejects(ensureLimits(dir, [{ file: "cpu.max", value: "999 100000" }]), {
    message: `cannot write "999 100000" to ${dir}/cpu.max: EINVAL`,
    code: "EINVAL",
  });
  await assert.rejects(ensureLimits(dir, [{ file: "pids.max", value: "007" }]), {
    message: `wrote "007" to ${dir}/pids.max, but it reads "7"`,
    code: "EREADBACK",
  });
  assert.ok(existsSync(dir));
});

/** Starts an app with a child that holds `mib` MiB until `release`. */
async function holdMemory(t: TestContext, dir: string, mib: number) {
  const fifo = makeFifo();
  // The holder fills its buffer, then waits for a reader of the fifo that never reads.
  const hold = `dd if=/dev/zero of=${fifo} bs=${mib}M count=1 2> /dev/null`;
  const { child } = startRun(dir, `exec 9<> ${fifo}; ${hold} & echo $!; wait; exec sleep 1000`);
  const holder = Number(await firstLine(child));
  await waitFor("the memory is held", () => readStats(dir)!.memory!.currentBytes > mib * MIB);
  t.after(() => exitOf(child));
  return { child, release: () => process.kill(holder, "SIGKILL") };
}

function makeFifo(): string {
  const path = join(mkdtempSync(join(tmpdir(), "hold-")), "fifo");
  execFileSync("mkfifo", [path]);
  return path;
}

function limits(memPCT: number) {
  return limitsFor({ memPCT }, NODE);
}

function read(dir: string, file: string): string {
  return readFileSync(`${dir}/${file}`, "utf8").trim();
}
