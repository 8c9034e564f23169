/** Finding a root on a real kernel: as root, as a user, in a container, and without a usable one. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { test, type TestContext } from "node:test";
import {
  ensureLimits,
  kill,
  limitsFor,
  type LocatedRoot,
  type LocateFailure,
  type LocateOptions,
  locateRoot,
  openCgroup,
  removeTree,
  verifyLimits,
  waitUntilEmpty,
} from "../../../cgroups/mod.ts";
import { joinCommand, NODE } from "./cgroups-app.ts";

const TOP = "/sys/fs/cgroup";
const USER = "65534";
/** These tests change mounts and the top of the hierarchy. */
const skip = process.env["CGROUP_ROOT"] === TOP ? false : "needs its own kernel";

test("root without systemd always gets /sys/fs/cgroup/nckubelet", { skip }, async (t) => {
  // As on a fresh machine: nothing enabled at the top.
  writeFileSync(`${TOP}/cgroup.subtree_control`, "-cpu -memory -pids -io");
  t.after(() => removeTree(`${TOP}/nckubelet`));
  const found = await locateRoot();
  assert.deepEqual(found, {
    ok: true,
    root: `${TOP}/nckubelet`,
    how: "plain",
    controllers: ["cpu", "io", "memory", "pids"],
    keeper: `${TOP}/nckubelet/keeper`,
  });
  const dir = openCgroup(found.root, "default_web");
  const limits = limitsFor({ cpuPCT: 20, memPCT: 10 }, NODE);
  await ensureLimits(dir, limits);
  assert.deepEqual(await locateRoot(), found);
  assert.deepEqual(verifyLimits(dir, limits), []);
});

test("a configured cgroup is used as it is, and created if only its parent exists", { skip }, async (t) => {
  t.after(() => removeTree(`${TOP}/mine`));
  const found = await locateRoot({ override: `${TOP}/mine/` });
  assert.ok(found.ok);
  assert.deepEqual([found.root, found.how], [`${TOP}/mine`, "override"]);
  const failure = await locateRoot({ override: `${TOP}/no/such/parent` });
  assert.equal(!failure.ok && failure.message, `cannot create the cgroup ${TOP}/no/such/parent: ENOENT`);
});

test(
  "a configured cgroup below a parent without controllers is refused, and removed again",
  { skip },
  async (t) => {
    mkdirSync(`${TOP}/closed`);
    t.after(() => rmdirSync(`${TOP}/closed`));
    const failure = await locateRoot({ override: `${TOP}/closed/mine` });
    assert.ok(!failure.ok);
    assert.equal(failure.reason, "controller-not-delegated");
    assert.deepEqual(failure.missing, ["cpu", "memory", "pids"]);
    assert.ok(failure.message.includes(`its parent ${TOP}/closed must enable them`));
    assert.ok(!existsSync(`${TOP}/closed/mine`));
  },
);

test(
  "a threaded cgroup is refused as a configured one, and so is the domain above it",
  { skip },
  async (t) => {
    const [domain, threaded] = [`${TOP}/domain`, `${TOP}/domain/threaded`];
    mkdirSync(threaded, { recursive: true });
    t.after(() => removeTree(domain));
    writeFileSync(`${threaded}/cgroup.type`, "threaded");
    for (const [override, type] of [[threaded, "threaded"], [domain, "domain threaded"]]) {
      const failure = await locateRoot({ override });
      assert.ok(!failure.ok);
      assert.equal(failure.reason, "threaded");
      assert.ok(failure.message.startsWith(`${override} has the cgroup.type "${type}"`));
    }
  },
);

test("a reached limit on the number of cgroups is named", { skip }, (t) => {
  const few = `${TOP}/few`;
  mkdirSync(few);
  t.after(() => removeTree(few));
  writeFileSync(`${few}/cgroup.max.descendants`, "1");
  openCgroup(few, "default_one");
  const reached = `${few}/cgroup.max.descendants allows no more than 1: write a higher number or "max" to it`;
  assert.throws(() => openCgroup(few, "default_two"), {
    message: `cannot create the cgroup ${few}/default_two: ${reached}`,
  });
});

test("a user gets its own cgroup if that was delegated, and finds it again", { skip }, async (t) => {
  const own = delegate(t, "session");
  const run = (from: string) => locateIn(from, {}, "user");
  const found = run(own);
  assert.ok(found.ok, JSON.stringify(found));
  assert.deepEqual([found.root, found.how, found.keeper], [own, "delegated", `${own}/keeper`]);
  assert.deepEqual(found.controllers.filter((name) => name !== "io"), ["cpu", "memory", "pids"]);
  assert.deepEqual(run(`${own}/agent`), found);
});

test("the failure names another process in the cgroup of a user", { skip }, async (t) => {
  const own = delegate(t, "crowded");
  const child = spawn("sleep", ["1000"]);
  writeFileSync(`${own}/cgroup.procs`, String(child.pid));
  const failure = locateIn(own, {}, "user");
  assert.ok(!failure.ok);
  assert.equal(failure.reason, "busy");
  assert.ok(failure.message.includes(`process ${child.pid} (sleep) is in ${own} itself`), failure.message);
});

test("a cgroup that belongs to root is not delegated to a user", { skip }, () => {
  const failure = locateIn(TOP, {}, "user");
  assert.ok(!failure.ok);
  assert.equal(failure.reason, "not-delegated");
  assert.ok(failure.message.startsWith(`user ${USER} may not manage ${TOP}, the cgroup of the agent`));
});

test("the failure names the processes in the top cgroup of a container", { skip }, (t) => {
  const own = delegate(t, "container");
  const failure = locateIn(own, {}, "container");
  assert.ok(!failure.ok);
  assert.equal(failure.reason, "busy");
  assert.match(
    failure.message,
    /cannot enable cpu, memory, pids in \/sys\/fs\/cgroup\/cgroup.subtree_control/,
  );
  assert.match(
    failure.message,
    /process 1 \([^)]+\) is in \/sys\/fs\/cgroup itself.*--cgroup-root/,
  );
  assert.equal(readFileSync(`${own}/cgroup.subtree_control`, "utf8"), "");
});

test("a container with only the agent works with --cgroup-root", { skip }, (t) => {
  const own = delegate(t, "alone");
  const found = locateIn(own, { override: TOP }, "container");
  assert.ok(found.ok, JSON.stringify(found));
  assert.deepEqual([found.root, found.how], [TOP, "override"]);
  assert.ok(existsSync(`${own}/agent`) && existsSync(`${own}/keeper`));
});

test("the failure reports the read-only mount of a container", { skip }, (t) => {
  const failure = locateIn(delegate(t, "sealed"), {}, "read-only container");
  assert.equal(!failure.ok && failure.reason, "read-only");
});

/** Creates a cgroup that belongs to the user, with every controller available. */
function delegate(t: TestContext, name: string): string {
  const dir = `${TOP}/${name}`;
  mkdirSync(dir);
  for (const path of ["", "/cgroup.procs", "/cgroup.subtree_control"]) {
    chownSync(dir + path, Number(USER), Number(USER));
  }
  t.after(async () => {
    await kill(dir);
    await waitUntilEmpty(dir, { timeoutMs: 60_000 });
    await removeTree(dir);
  });
  return dir;
}

/** Returns what a new process in the cgroup `from` finds: as a user, or as the first process of a container. */
function locateIn(from: string, options: LocateOptions, how: "user" | "container" | "read-only container") {
  const script = new URL("./cgroups-locate-once.ts", import.meta.url).pathname;
  const seal = how === "read-only container" ? `mount -o remount,ro,bind ${TOP};` : "";
  // A cgroup namespace starts at the cgroup of its first process: it joins, then unshares. None of its parents is inside.
  const shell = how === "user"
    ? `${joinCommand(from)} || exit 125; exec setpriv --reuid=${USER} --regid=${USER} --clear-groups "$@"`
    : `exec unshare -m -p -f --mount-proc sh -c '${joinCommand(from).replaceAll("'", "")} || exit 125; ` +
      `exec unshare -C sh -c "umount ${TOP}; mount -t cgroup2 none ${TOP}; ${seal} exec \\"\\$@\\"" sh "$@"' sh "$@"`;
  const args = ["-c", shell, "sh", process.execPath, script, JSON.stringify(options)];
  return JSON.parse(execFileSync("sh", args, { encoding: "utf8" })) as LocatedRoot | LocateFailure;
}
