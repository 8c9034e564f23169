import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createCgroupConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { newRunId } from "../../../src/supervisor/run-ref.ts";
import { tempFolder } from "../../temp-folder.ts";

/** The files of an app's cgroup as Linux 6.1 shows them after a group kill of five processes. */
const afterGroupKill = {
  "cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
  "memory.current": "4096\n",
};
const events = (kills: number, groupKills: string) =>
  `low 0\nhigh 0\nmax 120\noom 1\noom_kill ${kills}\n${groupKills}`;

async function usageWith(memoryEvents: string) {
  using temp = tempFolder();
  const root = temp.path;
  await mkdir(join(root, "default_web"));
  const files = { ...afterGroupKill, "memory.events": memoryEvents };
  for (const [file, text] of Object.entries(files)) await writeFile(join(root, "default_web", file), text);
  const keeper = join(root, "keeper");
  const confinement = createCgroupConfinement({
    root: { ok: true, root, how: "override", controllers: ["cpu", "memory", "pids"], keeper },
    size: { cpus: 1, memoryBytes: 2 ** 30 },
  });
  const run = { folder: "default_web", runId: "run-1" };
  const usage = await confinement.usage(run);
  assert.deepEqual(confinement.kills(run), usage?.kills);
  return usage;
}

test("kills of processes and of whole groups are read, groups only where the kernel counts them", async () => {
  const usage = await usageWith(events(6, "oom_group_kill 1\n"));
  assert.deepEqual([usage?.kills?.processes, usage?.kills?.groups, usage?.cpuSeconds], [6, 1, 2.5]);
  assert.deepEqual((await usageWith(events(3, "")))?.kills?.groups, undefined);
});

test("an empty cgroup leads to a search for processes that have left it, unless the script left none behind", async (t) => {
  const root = tempFolder(t).path;
  const run = { folder: "default_web", runId: newRunId(Date.now()), leaf: "" };
  await mkdir(join(root, run.folder, run.runId), { recursive: true });
  await writeFile(join(root, run.folder, run.runId, "cgroup.procs"), "");
  const confinement = createCgroupConfinement({
    root: { ok: true, root, how: "override", controllers: [], keeper: join(root, "keeper") },
    size: { cpus: 1, memoryBytes: 2 ** 30 },
  });
  const child = spawn("/bin/sleep", ["300"]);
  t.after(() => child.kill());
  await once(child, "spawn");
  const main = readStat(child.pid!)!;
  const found = (alone: boolean) => confinement.processes({ ...run, main, alone });
  assert.deepEqual([await found(true), await found(false)], [[], [main.pid]]);
});

test("only what is named as the agent names apps and runs is listed: whatever else is below the root is not its own", async (t) => {
  const root = tempFolder(t).path;
  const own = { folder: "default_web", runId: newRunId(Date.now()) };
  const foreign = [
    "other_tool.service/worker",
    "default_web/tasks-of-web",
    "system.slice/mf3k2x9a-0123456789",
    "keeper",
  ];
  for (const path of [`${own.folder}/${own.runId}`, ...foreign]) {
    await mkdir(join(root, path), { recursive: true });
  }
  const confinement = createCgroupConfinement({
    root: { ok: true, root, how: "override", controllers: [], keeper: join(root, "keeper") },
    size: { cpus: 1, memoryBytes: 2 ** 30 },
  });
  assert.deepEqual(await confinement.listRuns(), [own]);
});
