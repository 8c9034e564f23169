/**
 * The scope of the apps under real systemd. Transient services act as agents, which end or run again while the apps continue. The tests
 * depend on one another: they are the life of one machine.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  ensureLimits,
  limitsFor,
  listProcesses,
  locateRoot,
  openCgroup,
  readStats,
  waitUntilEmpty,
} from "../../../cgroups/mod.ts";
import { joinCommand } from "./cgroups-app.ts";

const ROOT = "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope";
const APP = `${ROOT}/default_web`;
const LIMIT_FILES = [
  "cpu.max",
  "memory.max",
  "memory.high",
  "memory.swap.max",
  "memory.oom.group",
  "pids.max",
];
const FOUND = {
  ok: true,
  root: ROOT,
  how: "systemd-scope",
  controllers: ["cpu", "io", "memory", "pids"],
  keeper: `${ROOT}/keeper`,
};

test("two agents that start at the same time share one scope", async () => {
  const found = await Promise.all([asService("cgroups-locate-once.ts"), asService("cgroups-locate-once.ts")]);
  assert.deepEqual(found.map((text) => JSON.parse(text)), [FOUND, FOUND]);
  assert.equal(property("Delegate"), "yes");
  assert.equal(property("TasksMax"), "infinity");
});

test("the keeper has neither the session nor the files nor the environment of the agent", () => {
  const pids = listProcesses(`${ROOT}/keeper`);
  assert.equal(pids.length, 1);
  const [pid] = pids;
  assert.equal(readFileSync(`/proc/${pid}/cmdline`, "utf8"), "sleep\0infinity\0");
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  assert.equal(stat[3], String(pid), "it leads its own session");
  for (const fd of [0, 1, 2]) assert.equal(readlinkSync(`/proc/${pid}/fd/${fd}`), "/dev/null");
  assert.ok(!readFileSync(`/proc/${pid}/environ`, "utf8").includes("SECRET_OF_THE_AGENT"));
});

test("an app keeps running with the same limits when the agent that started it ends", async () => {
  assert.equal((await asService("cgroups-start-app.ts")).trim(), ROOT);
  assert.equal(listProcesses(APP).length, 1);
  assert.equal(readFileSync(`${APP}/cpu.max`, "utf8"), "20000 100000\n");
});

test("10 new agents and 10 daemon-reloads change no pid and no limit", async () => {
  const before = state();
  for (let time = 1; time <= 10; time++) {
    execFileSync("systemctl", ["daemon-reload"]);
    assert.deepEqual(state(), before, `after daemon-reload ${time}`);
    assert.deepEqual(JSON.parse(await asService("cgroups-locate-once.ts")), FOUND, `agent ${time}`);
    assert.deepEqual(state(), before, `after agent ${time}`);
  }
  assert.equal(property("ActiveState"), "active");
});

test("an agent inside the scope finds it as well", async () => {
  const before = state();
  const command = `${joinCommand(`${ROOT}/keeper`)} || exit 125; exec "$@"`;
  const { stdout } = await run("sh", [
    "-c",
    command,
    "sh",
    process.execPath,
    script("cgroups-locate-once.ts"),
  ]);
  assert.deepEqual(JSON.parse(stdout), FOUND);
  assert.deepEqual(state(), before);
});

test("an OOM kill of an app ends neither the scope nor its neighbors", async () => {
  const before = state();
  const dir = openCgroup(ROOT, "default_greedy");
  await ensureLimits(dir, limitsFor({ memPCT: 4 }, { cpus: 1, memoryBytes: 1000 * 2 ** 20 }));
  const leaf = openCgroup(dir, "run1");
  const hungry = `${joinCommand(leaf)} || exit 125; exec dd if=/dev/zero of=/dev/null bs=200M count=1`;
  await assert.rejects(run("sh", ["-c", hungry]), { signal: "SIGKILL" });
  assert.ok(readStats(dir)!.memory!.kills.processes > 0);
  // systemd notices the kill by itself, and would react at once.
  await sleep(2_000);
  assert.equal(property("ActiveState"), "active");
  assert.deepEqual(state(), before);
});

test("a keeper that died is replaced by the next agent", async () => {
  const [keeper] = listProcesses(`${ROOT}/keeper`);
  process.kill(keeper!, "SIGKILL");
  assert.ok(await waitUntilEmpty(`${ROOT}/keeper`, { timeoutMs: 10_000 }));
  assert.deepEqual(JSON.parse(await asService("cgroups-locate-once.ts")), FOUND);
  const [next] = listProcesses(`${ROOT}/keeper`);
  assert.ok(next !== undefined && next !== keeper);
});

test("a scope that an interrupted start left half prepared is completed", async () => {
  await stopScope();
  const args = [
    "--scope",
    "--unit=nckubelet-apps",
    "--slice=nckubelet.slice",
    "-p",
    "Delegate=yes",
    "sleep",
    "1000",
  ];
  const interrupted = spawn("systemd-run", args, { stdio: "ignore", detached: true });
  while (!existsSync(ROOT) || listProcesses(ROOT).length === 0) await sleep(20);
  assert.deepEqual(await locateRoot(), FOUND);
  assert.deepEqual(listProcesses(`${ROOT}/keeper`), [interrupted.pid]);
});

test("the end of the scope ends every app, and the next agent creates a new one", async () => {
  await asService("cgroups-start-app.ts");
  const pids = listProcesses(ROOT);
  assert.equal(pids.length, 2);
  await stopScope();
  assert.deepEqual(pids.filter((pid) => existsSync(`/proc/${pid}`)), []);
  assert.deepEqual(JSON.parse(await asService("cgroups-locate-once.ts")), FOUND);
});

test("a scope of that name without delegation is refused", async () => {
  await stopScope();
  const args = ["--scope", "--unit=nckubelet-apps", "sleep", "1000"];
  spawn("systemd-run", args, { stdio: "ignore", detached: true });
  while (property("ActiveState") !== "active") await sleep(20);
  const failure = await locateRoot();
  assert.equal(!failure.ok && failure.reason, "not-delegated");
  await stopScope();
});

/** Returns all pids and limits of the scope. */
function state(): Record<string, string | number[]> {
  const limits = LIMIT_FILES.map((file) => [file, readFileSync(`${APP}/${file}`, "utf8").trim()]);
  return { ...Object.fromEntries(limits), pids: listProcesses(ROOT).sort() };
}

/** Runs a script of this folder as a service, like an agent, and returns its output. */
async function asService(name: string): Promise<string> {
  const args = [
    "--wait",
    "--pipe",
    "--quiet",
    "--collect",
    "--setenv=SECRET_OF_THE_AGENT=1",
    "--setenv=NODE_COMPILE_CACHE",
    process.execPath,
    script(name),
  ];
  return (await run("systemd-run", args)).stdout;
}

async function stopScope(): Promise<void> {
  await run("systemctl", ["stop", "nckubelet-apps.scope"]);
  while (existsSync(ROOT)) await sleep(20);
}

function property(name: string): string {
  return execFileSync("systemctl", ["show", "nckubelet-apps.scope", "--value", "-p", name], {
    encoding: "utf8",
  })
    .trim();
}

function script(name: string): string {
  return new URL(`./${name}`, import.meta.url).pathname;
}

function run(command: string, args: string[]): Promise<{ stdout: string }> {
  return promisify(execFile)(command, args, { encoding: "utf8" });
}
