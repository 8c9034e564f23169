import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import {
  createCgroup,
  findEntry,
  kill,
  listProcesses,
  openCgroup,
  removeTree,
  signalAll,
} from "../../cgroups/mod.ts";
import { reachedLimit } from "../../cgroups/create.ts";
import { fakeCgroup } from "./folder.ts";

test("listProcesses() lists the whole subtree once, and never pid 0", (t) => {
  const dir = fakeCgroup(t, { "cgroup.procs": "12\n0\n34\n" });
  mkdirSync(`${dir}/run/deep`, { recursive: true });
  writeFileSync(`${dir}/run/cgroup.procs`, "34\n56\n");
  writeFileSync(`${dir}/run/deep/cgroup.procs`, "78\n");
  assert.deepEqual(listProcesses(dir).sort(), [12, 34, 56, 78]);
  assert.deepEqual(listProcesses("/nowhere/at/all"), []);
});

test("findEntry() is the cgroup itself, or one below it if it limits cgroups of its own", (t) => {
  const dir = fakeCgroup(t, { "cgroup.subtree_control": "\n" });
  assert.equal(findEntry(dir), dir);
  writeFileSync(`${dir}/cgroup.subtree_control`, "cpu pids\n");
  for (const name of ["empty", "used"]) {
    mkdirSync(`${dir}/${name}`);
    writeFileSync(`${dir}/${name}/cgroup.subtree_control`, "\n");
  }
  writeFileSync(`${dir}/used/cgroup.procs`, "12\n");
  assert.equal(findEntry(dir), `${dir}/used`);
});

test("reachedLimit() names the cgroup above that allows no more cgroups, and what to do", (t) => {
  const top = fakeCgroup(t, { "cgroup.max.descendants": "2\n", "cgroup.stat": "nr_descendants 2\n" });
  mkdirSync(`${top}/apps`);
  writeFileSync(`${top}/apps/cgroup.max.descendants`, "max\n");
  writeFileSync(`${top}/apps/cgroup.stat`, "nr_descendants 1\n");
  const more = 'allows no more than 2: write a higher number or "max" to it';
  assert.equal(reachedLimit(`${top}/apps`), `${top}/cgroup.max.descendants ${more}`);
  writeFileSync(`${top}/cgroup.max.descendants`, "max\n");
  assert.equal(reachedLimit(`${top}/apps`), undefined);
  writeFileSync(`${top}/cgroup.max.depth`, "2\n");
  mkdirSync(`${top}/apps/deep`);
  assert.equal(reachedLimit(`${top}/apps/deep`), `${top}/cgroup.max.depth ${more}`);
});

test("openCgroup() creates a folder once, and only below its parent", (t) => {
  const root = fakeCgroup(t);
  const app = openCgroup(root, "default_web");
  assert.equal(app, `${root}/default_web`);
  assert.equal(openCgroup(root, "default_web"), app);
  assert.equal(openCgroup(app, "r1"), `${root}/default_web/r1`);
  assert.throws(() => openCgroup(root, "../x"), { code: "EINVAL" });
  assert.throws(() => openCgroup(app, "keeper"), { code: "EINVAL" });
});

test("createCgroup() reports whether it created the cgroup, and refuses a file in its place", (t) => {
  const root = fakeCgroup(t, { file: "" });
  assert.equal(createCgroup(`${root}/new`), true);
  assert.equal(createCgroup(`${root}/new`), false);
  assert.throws(() => createCgroup(`${root}/file`), {
    message: `cannot create the cgroup ${root}/file: EEXIST`,
  });
  assert.throws(() => createCgroup(`${root}/no/way`), { code: "ENOENT" });
});

test("removeTree() removes children first, and accepts a cgroup that is gone", async (t) => {
  const root = fakeCgroup(t);
  mkdirSync(`${root}/app/run/a/b/c`, { recursive: true });
  mkdirSync(`${root}/app/run/x`);
  await removeTree(`${root}/app`);
  assert.ok(!existsSync(`${root}/app`));
  await removeTree(`${root}/app`);
});

test("removeTree() names what it could not remove", async (t) => {
  const root = fakeCgroup(t);
  mkdirSync(`${root}/app`);
  writeFileSync(`${root}/app/cgroup.procs`, "12\n");
  await assert.rejects(removeTree(`${root}/app`, { timeoutMs: 0 }), {
    name: "CgroupError",
    message: `cannot remove the cgroup ${root}/app, it contains processes 12: ENOTEMPTY`,
  });
});

test("signalAll() signals every process once and counts them", async (t) => {
  const children = [spawn("sleep", ["600"]), spawn("sleep", ["600"])];
  t.after(() => children.forEach((child) => child.kill("SIGKILL")));
  const ended = Promise.all(children.map((child) => once(child, "exit")));
  const dir = fakeCgroup(t, { "cgroup.procs": `${children[0]!.pid}\n0\n` });
  mkdirSync(`${dir}/run`);
  writeFileSync(`${dir}/run/cgroup.procs`, `${children[1]!.pid}\n`);
  assert.equal(await signalAll(dir, "SIGTERM"), 2);
  assert.deepEqual((await ended).map(([, signal]) => signal), ["SIGTERM", "SIGTERM"]);
  assert.equal(await signalAll(dir, "SIGTERM"), 0);
});

test("kill() without cgroup.kill and freezer names the processes that are still alive", async (t) => {
  const dir = fakeCgroup(t, { "cgroup.events": "populated 1\n", "cgroup.procs": "999999999\n" });
  await assert.rejects(kill(dir, { hasKill: false, timeoutMs: 0 }), {
    message: `cannot kill ${dir} in 0 ms: processes 999999999 are still alive`,
    code: "ETIMEDOUT",
  });
});

test("kill() accepts a cgroup that is empty or gone", async (t) => {
  await kill(fakeCgroup(t, { "cgroup.events": "populated 0\n" }));
  await kill("/nowhere/at/all");
});
