/** A machine whose controllers are in use by cgroup v1, next to a v2 hierarchy without controllers. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { before, test } from "node:test";
import {
  ensureLimits,
  kill,
  limitsFor,
  listProcesses,
  locateRoot,
  openCgroup,
  removeTree,
  splitByControllers,
  waitUntilEmpty,
} from "../../../cgroups/mod.ts";
import { exitOf, NODE, startRun } from "./cgroups-app.ts";

const TOP = "/sys/fs/cgroup";
const skip = process.env["CGROUP_ROOT"] === TOP ? false : "needs its own kernel";
const HYBRID = `
  set -e
  echo "-cpu -memory -pids -io" > ${TOP}/cgroup.subtree_control
  umount ${TOP}
  mount -t tmpfs -o mode=755 tmpfs ${TOP}
  for name in cpu memory pids; do
    mkdir ${TOP}/$name
    mount -t cgroup -o $name cgroup ${TOP}/$name
  done
  mkdir ${TOP}/unified
  mount -t cgroup2 cgroup2 ${TOP}/unified`;

before(() => {
  if (!skip) execFileSync("sh", ["-c", HYBRID], { stdio: "inherit" });
});

test(
  "a hybrid machine has no root for limits, and the failure names the controllers of v1",
  { skip },
  async () => {
    const failure = await locateRoot();
    assert.ok(!failure.ok);
    assert.equal(failure.reason, "hybrid");
    assert.deepEqual(failure.missing, ["cpu", "memory", "pids"]);
    assert.match(
      failure.message,
      /^cgroup v1 holds controllers cpu, memory, pids \(\/sys\/fs\/cgroup\/cpu, .*cgroup_no_v1=all$/,
    );
    assert.ok(!existsSync(`${TOP}/unified/nckubelet`));
  },
);

test("a limit on a hybrid machine is an error, and never ignored", { skip }, async (t) => {
  const found = await locateRoot({ need: [] });
  assert.ok(found.ok);
  t.after(() => removeTree(found.root));
  const limits = limitsFor({ cpuPCT: 20 }, NODE);
  assert.deepEqual(splitByControllers(limits, found.controllers).unenforced, [
    { file: "cpu.max", value: "20000 100000" },
  ]);
  const dir = openCgroup(found.root, "capped");
  await assert.rejects(ensureLimits(dir, limits), {
    message: `cannot write "20000 100000" to ${dir}/cpu.max: ENOENT`,
  });
});

test("an app without limits is tracked and killed there as well", { skip }, async (t) => {
  const found = await locateRoot({ need: [] });
  assert.ok(found.ok);
  assert.deepEqual(found.controllers, []);
  t.after(() => removeTree(found.root));
  const dir = openCgroup(found.root, "free");
  assert.deepEqual(await ensureLimits(dir, splitByControllers(limitsFor({}, NODE), []).enforced), {
    changed: [],
  });
  const { child } = startRun(dir, "sleep 1000 & exec sleep 1000");
  while (listProcesses(dir).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(readFileSync(`${dir}/run/cgroup.procs`, "utf8").trim().split("\n").length, 2);
  await kill(dir);
  assert.ok(await waitUntilEmpty(dir, { timeoutMs: 10_000 }));
  assert.deepEqual(await exitOf(child), [null, "SIGKILL"]);
});
