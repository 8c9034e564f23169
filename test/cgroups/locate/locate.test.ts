import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { locateRoot } from "../../../cgroups/mod.ts";
import { layOutScene } from "../scene.ts";

// test/guest has the successes, on real kernels; here are the failures, which must leave no trace.

test("locateRoot() says exactly why a hybrid machine has no root, and changes nothing", async (t) => {
  const scene = layOutScene("hybrid", t);
  const mount = scene.addCgroup("/sys/fs/cgroup/unified");
  const before = readdirSync(mount);
  for (const systemdMarker of ["/nowhere", "/"]) {
    const found = await locateRoot({ ...scene, uid: 0, systemdMarker, showScope: never, startScope: never });
    assert.ok(!found.ok);
    assert.equal(found.reason, "hybrid");
    assert.equal(
      found.message.replaceAll(scene.sysRoot, "TOP"),
      "cgroup v1 holds controllers cpu, memory, pids (TOP/cpu, TOP/memory, TOP/pids), so cgroup v2 cannot enforce: " +
        "boot with systemd.unified_cgroup_hierarchy=1, or with cgroup_no_v1=all",
    );
    assert.deepEqual(found.missing, ["cpu", "memory", "pids"]);
  }
  assert.deepEqual(readdirSync(mount), before);
  assert.equal(readFileSync(`${mount}/cgroup.subtree_control`, "utf8"), "");
});

test("locateRoot() finds a tree without controllers on a hybrid machine if none are needed", async (t) => {
  const scene = layOutScene("hybrid", t);
  const mount = scene.addCgroup("/sys/fs/cgroup/unified");
  scene.addCgroup("/sys/fs/cgroup/unified/nckubelet");
  const found = await locateRoot({ ...scene, uid: 0, systemdMarker: "/nowhere", need: [] });
  assert.deepEqual(found, {
    ok: true,
    root: `${mount}/nckubelet`,
    how: "plain",
    controllers: [],
    keeper: `${mount}/nckubelet/keeper`,
  });
});

test("locateRoot() names a disabled controller", async (t) => {
  const scene = layOutScene("memory-disabled", t);
  scene.addCgroup("/sys/fs/cgroup");
  const found = await locateRoot({ ...scene, uid: 0, systemdMarker: "/nowhere" });
  assert.ok(!found.ok);
  assert.equal(found.reason, "controller-disabled");
  assert.deepEqual(found.missing, ["memory"]);
  assert.match(
    found.message,
    /^controller memory is disabled on the kernel command line: .*cgroup_enable=memory$/,
  );
});

test("locateRoot() reports v1-only and read-only before anything else", async (t) => {
  const messages = {
    "v1-only": /^only cgroup v1 is mounted \(TOP\/cpu, .*cgroup_no_v1=all$/,
    "read-only": /^cgroup v2 at TOP is mounted read-only/,
  };
  for (const [reason, message] of Object.entries(messages)) {
    const scene = layOutScene(reason, t);
    const found = await locateRoot({ ...scene, uid: 0 });
    assert.ok(!found.ok);
    assert.equal(found.reason, reason);
    assert.match(found.message.replaceAll(scene.sysRoot, "TOP"), message);
  }
});

test("locateRoot() names the processes in the top cgroup of a container", async (t) => {
  const scene = layOutScene("container", t);
  const top = scene.addCgroup("/sys/fs/cgroup", {
    "cgroup.procs": "1\n7\n",
    "cgroup.events": "populated 1\n",
  });
  const found = await locateRoot({ ...scene, uid: 0, systemdMarker: "/nowhere" });
  assert.ok(!found.ok);
  assert.equal(found.reason, "busy");
  assert.match(
    found.message,
    /processes 1 \(\?\), 7 \(\?\) are in .*: move them to a cgroup below it, or, if the agent is/,
  );
  assert.ok(!existsSync(`${top}/nckubelet`));
});

test("locateRoot() names the controller that was not delegated to a user session", async (t) => {
  const scene = layOutScene("user-session", t);
  const own = scene.addCgroup("/sys/fs/cgroup/user/app");
  const found = await locateRoot({ ...scene, uid: 1000 });
  assert.ok(!found.ok);
  assert.equal(found.reason, "controller-not-delegated");
  assert.deepEqual(found.missing, ["cpu"]);
  const parent = own.replace("/app", "");
  assert.ok(found.message.startsWith(`controller cpu is not delegated to ${own}: its parent ${parent} must`));
});

test("locateRoot() refuses a threaded cgroup as a configured root, and says what to use", async (t) => {
  const scene = layOutScene("unified", t);
  const given = scene.addCgroup("/sys/fs/cgroup/threads", { "cgroup.type": "threaded\n" });
  for (const need of [["cpu", "memory", "pids"], []]) {
    const found = await locateRoot({ ...scene, override: given, need });
    assert.ok(!found.ok);
    assert.equal(found.reason, "threaded");
    assert.match(
      found.message,
      /threads has the cgroup\.type "threaded", .*: use one that is neither threaded/,
    );
  }
});

test("locateRoot() reports a cgroup that the user may not manage", async (t) => {
  const scene = layOutScene("user-session", t);
  const found = await locateRoot({ ...scene, uid: 1000 });
  assert.ok(!found.ok);
  assert.equal(found.reason, "not-delegated");
  assert.match(
    found.message,
    /^user 1000 may not manage .*\/user\/app, the cgroup of the agent: run the agent as root, or/,
  );
});

test("locateRoot() refuses a folder that is not a cgroup, and creates nothing in it", async (t) => {
  const scene = layOutScene("unified", t);
  const found = await locateRoot({ ...scene, override: scene.path("/elsewhere") });
  assert.ok(!found.ok);
  assert.equal(found.reason, "not-a-cgroup");
  assert.equal(
    found.message,
    `${scene.path("/elsewhere")} is not in a cgroup v2 file system (mounted here: ${scene.sysRoot})`,
  );
  assert.ok(!existsSync(scene.path("/elsewhere")));
});

test("locateRoot() passes on the error of systemd", async (t) => {
  const scene = layOutScene("unified", t);
  scene.addCgroup("/sys/fs/cgroup");
  const showScope = () => Promise.reject(new Error("Failed to connect to bus"));
  const found = await locateRoot({ ...scene, uid: 0, systemdMarker: "/", showScope });
  assert.deepEqual(found, {
    ok: false,
    reason: "systemd-failed",
    message: "cannot start nckubelet-apps.scope: Failed to connect to bus",
  });
});

test("locateRoot() reports a scope that is not visible at the mount", async (t) => {
  const scene = layOutScene("bind-mount", t);
  scene.addCgroup("/sys/fs/cgroup");
  const showScope = () =>
    Promise.resolve({ ActiveState: "active", Delegate: "yes", ControlGroup: "/nckubelet.slice/s" });
  const found = await locateRoot({ ...scene, uid: 0, systemdMarker: "/", showScope });
  assert.equal(!found.ok && found.reason, "outside-mount");
});

test("locateRoot() returns a failure on a machine without /proc", async () => {
  const found = await locateRoot({ procRoot: "/nowhere" });
  assert.equal(!found.ok && found.reason, "unusable");
  assert.match(!found.ok ? found.message : "", /ENOENT.*\/nowhere\/self\/mountinfo/);
});

test("locateRoot() detects whether this machine is hybrid", async (t) => {
  const mountinfo = readFileSync("/proc/self/mountinfo", "utf8");
  const isHybrid = mountinfo.includes(" - cgroup2 ") &&
    /^(cpu|memory|pids)\t[1-9]/m.test(readFileSync("/proc/cgroups", "utf8"));
  if (!isHybrid) return t.skip("this machine is not hybrid");
  // For another user, the first problem is that nothing is delegated to it.
  const found = await locateRoot({ uid: 0 });
  assert.equal(!found.ok && found.reason, "hybrid");
});

function never(): Promise<never> {
  throw new Error("must not be called");
}
