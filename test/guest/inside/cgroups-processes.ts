/** Processes in a cgroup on a real kernel: they join before their first instruction, and none escapes. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CgroupError,
  createCgroup,
  ensureLimits,
  freeze,
  kill,
  limitsFor,
  listProcesses,
  moveProcess,
  openCgroup,
  readStats,
  removeTree,
  signalAll,
  thaw,
  waitUntilEmpty,
  watchEmpty,
} from "../../../cgroups/mod.ts";
import { createRandom, type Random } from "../../random.ts";
import { stayAlive } from "../../stay-alive.ts";
import { waitFor } from "../../wait-for.ts";
import { endApp, exitOf, firstLine, joinCommand, makeApp, NODE, startRun, testRoot } from "./cgroups-app.ts";

/** Double-forks into its own session, and forks on. */
const BUSY = "while :; do sleep 1; done";
const DAEMONIZE = `(setsid sh -c "${BUSY}" > /dev/null 2>&1 &)`;

test("a script is in its cgroup before its first instruction, and so is every child", async (t) => {
  const dir = await makeApp(t, "inside");
  const { child, leaf } = startRun(dir, `cat /proc/self/cgroup; ${DAEMONIZE}; sleep 1000 & exec sleep 1000`);
  const own = await firstLine(child);
  assert.ok(leaf.endsWith(own.slice("0::".length)), `${own} is not ${leaf}`);
  // The child of the daemon comes and goes.
  await until(() => listProcesses(leaf).length >= 3);
  assert.ok(listProcesses(leaf).includes(child.pid!));
});

test("a script does not start when its cgroup is gone", async (t) => {
  const dir = await makeApp(t, "gone");
  const leaf = `${dir}/never`;
  const child = spawn("sh", ["-c", `${joinCommand(leaf)} || exit 125; echo started`], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const output = child.stdout.toArray();
  assert.deepEqual(await exitOf(child), [125, null]);
  assert.equal(Buffer.concat(await output).toString(), "");
});

for (const hasKill of [true, false]) {
  const way = hasKill ? "cgroup.kill" : "cgroup.kill masked";

  test(`double fork, setsid and ignored SIGTERM do not outlive a stop, with ${way}`, async (t) => {
    const dir = await makeApp(t, "stubborn");
    const { child, leaf } = startRun(dir, `trap "" TERM; ${DAEMONIZE}; ${DAEMONIZE}; echo up; ${BUSY}`);
    await firstLine(child);
    await until(() => listProcesses(leaf).length >= 3);
    assert.ok(await signalAll(dir, "SIGTERM") >= 3);
    assert.equal(await waitUntilEmpty(dir, { timeoutMs: 1_000 }), false);
    await kill(dir, { hasKill });
    assert.equal(await waitUntilEmpty(dir, { timeoutMs: 2_000 }), true);
    assert.deepEqual(listProcesses(dir), []);
    await removeTree(dir);
  });

  test(`a fork bomb under pidsMax does not affect others and is killed within 5 s, with ${way}`, async (t) => {
    const dir = await makeApp(t, "bomb", { pidsMax: 60, cpuPCT: 50 });
    const { child } = startRun(
      dir,
      "bomb() { bomb | bomb & }; bomb 2> /dev/null; while :; do bomb; done 2> /dev/null",
    );
    const processes = () => Number(readFileSync(`${dir}/pids.current`, "latin1"));
    await until(() => processes() >= 55);
    assert.ok(processes() <= 60);
    assert.equal(execFileSync("echo", ["still answering"], { encoding: "utf8" }), "still answering\n");
    await kill(dir, { hasKill });
    assert.equal(await waitUntilEmpty(dir, { timeoutMs: 5_000 }), true);
    await exitOf(child);
  });

  test(`kill() ends a frozen app, with ${way}`, async (t) => {
    const dir = await makeApp(t, "frozen");
    const { child } = startRun(dir, "exec sleep 1000");
    await until(() => listProcesses(dir).length === 1);
    assert.equal(await freeze(dir), true);
    await kill(dir, { hasKill });
    assert.equal(await waitUntilEmpty(dir, { timeoutMs: 10_000 }), true);
    assert.deepEqual(await exitOf(child), [null, "SIGKILL"]);
  });
}

test("SIGTERM reaches every process of the app, and those that handle it exit by themselves", async (t) => {
  const dir = await makeApp(t, "polite");
  const polite = "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done";
  const { child } = startRun(dir, polite);
  await firstLine(child);
  await signalAll(dir, "SIGTERM");
  assert.deepEqual(await exitOf(child), [7, null]);
  assert.equal(await waitUntilEmpty(dir, { timeoutMs: 10_000 }), true);
});

test("freeze() stops an app until thaw()", async (t) => {
  const dir = await makeApp(t, "icy", { cpuPCT: 20 });
  startRun(dir, "while :; do :; done");
  await until(() => readStats(dir)!.cpu.usageUsec > 0);
  assert.equal(await freeze(dir), true);
  const still = readStats(dir)!.cpu.usageUsec;
  await sleep(500);
  assert.equal(readStats(dir)!.cpu.usageUsec, still);
  thaw(dir);
  await until(() => readStats(dir)!.cpu.usageUsec > still);
});

test("the kernel notifies about the end of the run and of the app", async (t) => {
  using _alive = stayAlive();
  const dir = await makeApp(t, "mortal");
  const { child, leaf } = startRun(dir, "exec sleep 1000");
  await until(() => listProcesses(leaf).length >= 1);
  const reported: string[] = [];
  const ends = Promise.all([dir, leaf].map((cgroup) =>
    new Promise<void>((resolve) => {
      const onEmpty = () => (reported.push(cgroup), resolve());
      const watched = watchEmpty(cgroup, onEmpty);
      t.after(() => watched.close());
    })
  ));
  assert.deepEqual(reported, []);
  child.kill("SIGKILL");
  await ends;
  assert.deepEqual(reported.sort(), [dir, leaf].sort());
});

test("removeTree() removes cgroups that the app created, whatever their names", async (t) => {
  const dir = await makeApp(t, "nested");
  const leaf = openCgroup(dir, "run");
  mkdirSync(`${leaf}/inner/most`, { recursive: true });
  mkdirSync(`${leaf}/ sp ace/ü`, { recursive: true });
  mkdirSync(Buffer.concat([Buffer.from(`${leaf}/`), Buffer.from([0xff, 0xfe])]));
  await removeTree(dir);
  assert.ok(!existsSync(dir));
});

test("removeTree() names the remaining processes", async (t) => {
  const dir = await makeApp(t, "lively");
  const { child } = startRun(dir, "exec sleep 1000");
  await until(() => listProcesses(dir).length === 1);
  await assert.rejects(removeTree(dir, { timeoutMs: 100 }), {
    message: `cannot remove the cgroup ${dir}, it contains processes ${child.pid}: EBUSY`,
    code: "EBUSY",
  });
});

test("1,000 rounds of create, limit, join and remove leave no cgroup", async (t) => {
  const root = await testRoot();
  const before = readdirSync(root).sort();
  // One process moves through all of them: a thousand forks would test the guest.
  const nomad = spawn("sleep", ["1000"]);
  t.after(() => nomad.kill("SIGKILL"));
  const limits = limitsFor({ cpuPCT: 10, memPCT: 10, pidsMax: 10 }, NODE);
  const rest = openCgroup(root, "rest");
  for (let round = 0; round < 1000; round++) {
    const dir = openCgroup(root, `round_${round}`);
    await ensureLimits(dir, limits);
    const leaf = openCgroup(dir, "run");
    moveProcess(nomad.pid!, leaf);
    assert.deepEqual(listProcesses(dir), [nomad.pid]);
    moveProcess(nomad.pid!, rest);
    await removeTree(dir);
  }
  await endApp(rest);
  assert.deepEqual(readdirSync(root).sort(), before);
});

test("10,000 fuzzed names change nothing outside of the root", async (t) => {
  const dir = await makeApp(t, "fuzz");
  const parent = await testRoot();
  const outside = snapshot(parent, dir);
  const random = createRandom(20_261_116);
  let made = 0;
  for (let count = 0; count < 10_000; count++) {
    const name = fuzzName(random);
    try {
      const child = openCgroup(dir, name);
      assert.equal(child, join(dir, name));
      assert.equal(readFileSync(`${child}/cgroup.procs`, "utf8"), "");
      await removeTree(child);
      made++;
    } catch (error) {
      assert.ok(error instanceof CgroupError && error.code === "EINVAL", `${JSON.stringify(name)}: ${error}`);
    }
  }
  assert.ok(made > 100 && made < 9_000, `${made} of the names were valid`);
  assert.deepEqual(snapshot(parent, dir), outside);
  assert.deepEqual(readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()), []);
});

test("createCgroup() refuses the name of an interface file", async (t) => {
  const dir = await makeApp(t, "files");
  assert.throws(() => createCgroup(`${dir}/cgroup.procs`), { code: "EEXIST" });
});

/** Returns all cgroups below `dir` but one, and the controllers that each enables. */
function snapshot(dir: string, without: string): string[] {
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const below = folders.map((entry) => join(dir, entry.name)).filter((path) => path !== without);
  const enabled = readFileSync(`${dir}/cgroup.subtree_control`, "utf8");
  return [`${dir} ${enabled}`, ...below.flatMap((path) => snapshot(path, without))];
}

/** Returns a name as in a careless or hostile manifest. */
function fuzzName(random: Random): string {
  const parts = [
    "a",
    "web",
    "_",
    "-",
    ".",
    "..",
    "/",
    "\\",
    "\0",
    "\n",
    " ",
    "%2e%2e",
    "ü",
    "\u{1F980}",
    "cgroup.procs",
  ];
  parts.push(
    "cpu.max",
    "keeper",
    "agent",
    "Z9",
    "default_",
    "~",
    "$HOME",
    "'",
    "a".repeat(130),
    "\u202e",
    "0",
  );
  return Array.from({ length: random.integer(1, 4) }, () => random.pick(parts)).join("");
}

async function until(condition: () => boolean): Promise<void> {
  await waitFor(String(condition), condition);
}
