import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { markPath, marksFolder } from "../../src/supervisor/layout.ts";
import { createMarkerConfinement } from "../../src/supervisor/marker-confinement.ts";
import { observeRun } from "../../src/supervisor/observe.ts";
import { appWith, runOf, start } from "./fixtures.ts";

test("a claim that is not signed yet is that of a living launcher, for ten seconds of waiting, whatever the clock says", async () => {
  const folder = await mkdtemp(join(tmpdir(), "observe-"));
  const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
  const run = runOf(appWith(), { id: "run-unsigned", createdAt: start - 60_000, main: undefined });
  try {
    await mkdir(marksFolder(layout), { recursive: true });
    await writeFile(`${markPath(layout, run.id)}.claim`, "");
    const deps = { layout, bootId: run.bootId, confinement: createMarkerConfinement("no cgroups here") };
    const lives = async (waitedMs?: number) =>
      (await observeRun("default_web", run, { ...deps, waitedMs })).launcherAlive;
    assert.deepEqual([await lives(0), await lives(9999), await lives(10_000)], [true, true, false]);
    assert.equal(await lives(), false, "nobody waits for it any more");
  } finally {
    await rm(folder, { recursive: true });
  }
});
