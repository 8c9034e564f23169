import assert from "node:assert/strict";
import { test } from "node:test";
import { appName, CgroupError, checkName } from "../../cgroups/mod.ts";

test("checkName() takes what Kubernetes names and run ids look like", () => {
  for (const name of ["default_web", "kube-system_my.app-1", "a", "0", "R2D2", "a".repeat(255)]) {
    assert.equal(checkName(name), name);
  }
});

test("checkName() refuses whatever could leave the tree or meet the kernel's own files", () => {
  const refused = [
    "",
    ".",
    "..",
    "../other",
    "a/b",
    "/a",
    "-a",
    "_a",
    ".hidden",
    "a\n",
    "a\0",
    "a b",
    "ä",
    "a\u202e",
    "cgroup.procs",
    "cpu.max",
    "memory.anything",
    "hugetlb.2MB.max",
    "tasks",
    "keeper",
    "agent",
    "a".repeat(256),
    "a".repeat(300),
  ];
  for (const name of refused) {
    assert.throws(() => checkName(name), (error) => {
      assert.ok(error instanceof CgroupError, name);
      assert.equal(error.code, "EINVAL");
      assert.equal(error.value, name);
      return true;
    });
  }
});

test("checkName() quotes the name and says what is wrong with it", () => {
  assert.throws(() => checkName("a/b"), { message: /^"a\/b" cannot name a cgroup: only letters/ });
  assert.throws(() => checkName("x".repeat(300)), { message: /it has 300 characters, at most 255 fit$/ });
  assert.throws(() => checkName("cpu.max"), { message: /the kernel names its own files that way$/ });
});

test("appName() joins namespace and name, and keeps the longest pairs apart by a digest", () => {
  assert.equal(appName("default", "web"), "default_web");
  const namespace = "n".repeat(63);
  const one = appName(namespace, "a".repeat(253));
  const two = appName(namespace, "a".repeat(252) + "b");
  assert.equal(one.length, 255);
  assert.notEqual(one, two);
  assert.equal(one, appName(namespace, "a".repeat(253)));
});

test("appName() refuses parts that are no names", () => {
  assert.throws(() => appName("..", "x"), CgroupError);
  assert.throws(() => appName("default", "../../etc"), CgroupError);
});
