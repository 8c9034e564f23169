import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { recallRoot } from "../../../cgroups/locate/recall.ts";
import { layOutScene } from "../scene.ts";

test("a root that was used before is recalled with the controllers that its children have", (t) => {
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

test("a root that is gone has no controllers, and nothing is made of it", (t) => {
  const { path, procRoot } = layOutScene("unified", t);
  const gone = path("/sys/fs/cgroup/gone.scope");
  assert.deepEqual(recallRoot(gone, { procRoot })?.controllers, []);
  assert.throws(() => mkdirSync(`${gone}/app`), /ENOENT/);
});

test("a path that is not plainly in a cgroup v2 file system is no root", (t) => {
  const { path, procRoot } = layOutScene("unified", t);
  const mount = path("/sys/fs/cgroup");
  for (const root of ["", "/", "/etc", `${mount}-2`, `${mount}/../proc`, `${mount}/a/`, "sys/fs/cgroup/a"]) {
    assert.equal(recallRoot(root, { procRoot }), undefined, root);
  }
});
