import assert from "node:assert/strict";
import { test } from "node:test";
import { CgroupError, checkName } from "../../cgroups/mod.ts";

test("checkName() accepts names of Kubernetes and run ids", () => {
  for (const name of ["default_web", "kube-system_my.app-1", "a", "0", "R2D2", "a".repeat(255)]) {
    assert.equal(checkName(name), name);
  }
});

test("checkName() refuses names that leave the tree or clash with the kernel's files", () => {
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
      return true;
    });
  }
});

test("checkName() quotes the name and says what is wrong", () => {
  assert.throws(() => checkName("a/b"), { message: /^"a\/b" cannot name a cgroup: only letters/ });
  assert.throws(() => checkName("x".repeat(300)), {
    message: /it has 300 characters, at most 255 are allowed$/,
  });
  assert.throws(() => checkName("cpu.max"), { message: /the kernel uses such names for its own files$/ });
});
