import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { recallRoot } from "../../../cgroups/mod.ts";
import { layOutScene } from "../scene.ts";

test("recallRoot() returns an earlier root with the controllers of its children", (t) => {
  const { path, addCgroup, procRoot } = layOutScene("unified", t);
  const root = addCgroup("/sys/fs/cgroup/old.scope", { "cgroup.subtree_control": "cpu memory pids\n" });
  assert.deepEqual(recallRoot(root, { procRoot }), {
    ok: true,
    root,
    how: "override",
    controllers: ["cpu", "memory", "pids"],
    keeper: path("/sys/fs/cgroup/old.scope/keeper"),
  });
});

test("recallRoot() returns a root that is gone without controllers, and creates nothing", (t) => {
  const { path, procRoot } = layOutScene("unified", t);
  const gone = path("/sys/fs/cgroup/gone.scope");
  assert.deepEqual(recallRoot(gone, { procRoot })?.controllers, []);
  assert.throws(() => mkdirSync(`${gone}/app`), /ENOENT/);
});

test("recallRoot() refuses paths that are not normalized or not in a cgroup v2 file system", (t) => {
  const { path, procRoot } = layOutScene("unified", t);
  const mount = path("/sys/fs/cgroup");
  for (const root of ["", "/", "/etc", `${mount}-2`, `${mount}/../proc`, `${mount}/a/`, "sys/fs/cgroup/a"]) {
    assert.equal(recallRoot(root, { procRoot }), undefined, root);
  }
});
