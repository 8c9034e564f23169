import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { explainMissing, findMount, inMount, ownCgroup } from "../../../cgroups/locate/mounts.ts";

// Captured on Linux 6.1, one folder per machine.
const read = (scene: string, file: string) =>
  readFileSync(new URL(`../fixtures/${scene}/${file}`, import.meta.url), "utf8");
const find = (scene: string) => findMount(read(scene, "mountinfo"), { sysRoot: "/sys/fs/cgroup" });
const explain = (scene: string, dir: string, missing: string[]) =>
  explainMissing(dir, missing, {
    isTop: true,
    procCgroups: read(scene, "proc-cgroups"),
    mountinfo: read(scene, "mountinfo"),
  });

test("findMount() finds the unified hierarchy", () => {
  const mount = { point: "/sys/fs/cgroup", root: "/", readOnly: false };
  assert.deepEqual(find("unified"), { ok: true, mount });
  assert.deepEqual(find("container"), { ok: true, mount });
});

test("findMount() finds the v2 hierarchy next to the v1 hierarchies of a hybrid machine", () => {
  assert.deepEqual(find("hybrid"), {
    ok: true,
    mount: { point: "/sys/fs/cgroup/unified", root: "/", readOnly: false },
  });
});

test("findMount() returns the part of the tree that a bind mount shows", () => {
  assert.deepEqual(find("bind-mount"), {
    ok: true,
    mount: { point: "/sys/fs/cgroup", root: "/machine", readOnly: false },
  });
});

test("findMount() reports that nothing is mounted", () => {
  const found = findMount("18 16 0:16 / /proc rw,relatime - proc proc rw\n", { sysRoot: "/sys/fs/cgroup" });
  assert.ok(!found.ok);
  assert.equal(found.reason, "no-cgroup2");
  assert.match(found.message, /mount -t cgroup2 none \/sys\/fs\/cgroup$/);
});

test("findMount() skips a hidden mount, and unescapes spaces", () => {
  const hidden = read("unified", "mountinfo") + "30 19 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n";
  assert.ok(!findMount(hidden, { sysRoot: "/sys/fs/cgroup" }).ok);
  const spaced = "20 19 0:18 / /mnt/my\\040cgroups rw,relatime - cgroup2 none rw\n";
  const found = findMount(spaced, { sysRoot: "/sys/fs/cgroup" });
  assert.equal(found.ok && found.mount.point, "/mnt/my cgroups");
});

test("ownCgroup() is the folder of the process, or undefined outside of the namespace or mount", () => {
  const whole = { point: "/sys/fs/cgroup", root: "/", readOnly: false };
  const part = { point: "/sys/fs/cgroup", root: "/machine", readOnly: false };
  assert.equal(ownCgroup(read("unified", "self-cgroup"), whole), "/sys/fs/cgroup");
  assert.equal(ownCgroup(read("user-session", "self-cgroup"), whole), "/sys/fs/cgroup/user/app");
  assert.equal(ownCgroup(read("hybrid", "self-cgroup"), whole), "/sys/fs/cgroup");
  assert.equal(ownCgroup(read("bind-mount", "self-cgroup"), part), "/sys/fs/cgroup");
  assert.equal(ownCgroup("0::/machine/deep\n", part), "/sys/fs/cgroup/deep");
  assert.equal(ownCgroup("0::/machinery\n", part), undefined);
  assert.equal(ownCgroup("0::/../other\n", whole), undefined);
  assert.equal(ownCgroup("1:cpu:/\n", whole), undefined);
  assert.equal(inMount("/a/b", whole), "/sys/fs/cgroup/a/b");
});

test("explainMissing() names a controller that the kernel was built without", () => {
  const failure = explain("unified", "/sys/fs/cgroup", ["hugetlb"]);
  assert.equal(failure.reason, "controller-missing");
  assert.equal(failure.message, "this kernel is built without controller hugetlb");
});

test("explainMissing() names what must delegate the controllers of a container", () => {
  assert.match(
    explain("container", "/sys/fs/cgroup", ["cpu"]).message,
    /the runtime of this container must/,
  );
  assert.match(
    explain("container", "/sys/fs/cgroup", ["cpu", "memory"]).message,
    /^controllers cpu, memory are not delegated to .* must enable them in cgroup\.subtree_control/,
  );
});
