import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { type Inside, readInside, readLeaf, saveInside } from "../../src/supervisor/inside.ts";

test("what a run's folder says of its start is taken only if it can be of this run", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "run-"));
  t.after(() => rm(folder, { recursive: true }));
  const runId = basename(folder);
  const inside: Inside = { leaf: "", privileges: ["setsid"], workingDir: "/", gid: 1 };
  for (const leaf of ["", `/sys/fs/cgroup/nckubelet/default_web/${runId}`]) {
    await rm(join(folder, "inside.json"), { force: true });
    await saveInside(folder, { ...inside, leaf });
    assert.deepEqual([await readLeaf(folder), (await readInside(folder)).gid], [leaf, 1]);
  }
  const strange = [
    ...["/etc", `/sys/../etc/${runId}`, `etc/${runId}`, "/", 7, null, undefined].map((leaf) => ({
      ...inside,
      leaf,
    })),
    { ...inside, privileges: "sh" },
    { ...inside, workingDir: undefined },
    null,
    [],
  ];
  for (const value of strange) {
    await writeFile(join(folder, "inside.json"), JSON.stringify(value));
    await assert.rejects(readInside(folder), /inside\.json does not say how this run was started/);
    assert.equal(await readLeaf(folder), undefined);
  }
});
