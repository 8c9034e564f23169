import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  type Inside,
  insideCommand,
  LostWayInError,
  readInside,
  readLeaf,
  runInside,
  saveInside,
} from "../../../src/supervisor/run/enter.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

test("what a run's folder says of its start is taken only if it can be of this run", async (t) => {
  const folder = tempFolder(t).path;
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

const timeoutMs = 60_000;

/** The folder of a run that can be entered, below `leaf` if one is given. */
async function enterable(leafIn = "") {
  const temp = tempFolder();
  const folder = temp.path;
  const runId = basename(folder);
  const environment = join(folder, "environment");
  await writeFile(environment, "export APP='web'\n");
  const leaf = leafIn && join(leafIn, runId);
  await saveInside(folder, { leaf, privileges: ["setsid"], workingDir: "/", gid: 0, environment });
  return {
    folder,
    runId,
    leaf,
    environment,
    inside: join(folder, "inside.json"),
    [Symbol.dispose]: temp.remove,
  };
}

test("probes and sessions carry the marker of visitors and leave it to what they start; a stop file does not", async () => {
  await using run = await enterable();
  const show = ["sh", "-c", "env | grep -e ^APP= -e ^NCAPP_VISITOR= | sort"];
  const shown = `APP=web\nNCAPP_VISITOR=${run.runId}\n`;
  assert.equal((await runInside(run.folder, show, { timeoutMs, captureBytes: 1024 })).output, shown);
  const [file = "", ...args] = await insideCommand(run.folder, show);
  assert.equal((await promisify(execFile)(file, args)).stdout, shown);
  const log = join(run.folder, "log");
  await runInside(run.folder, show, { timeoutMs, log });
  assert.equal(await readFile(log, "utf8"), "APP=web\n");
});

test("a visitor carries its marker before it enters the cgroup", async () => {
  using temp = tempFolder();
  const root = temp.path;
  await using run = await enterable(root);
  const gate = join(run.leaf, "cgroup.procs");
  await mkdir(run.leaf);
  // Whoever enters waits here until somebody reads.
  execFileSync("mkfifo", [gate]);
  const [file = "", ...args] = await insideCommand(run.folder, ["true"]);
  const visits = [
    () => runInside(run.folder, ["true"], { timeoutMs }),
    () => promisify(execFile)(file, args),
  ];
  for (const visit of visits) {
    const visited = visit();
    try {
      const look = () => isMarked(`NCAPP_VISITOR=${run.runId}`, gate);
      await waitFor("a marked process at the gate", look, 10_000);
    } finally {
      assert.equal(await readFile(gate, "utf8"), "0\n");
      await visited;
    }
  }
});

/** Whether there is a shell with this variable that was told of the gate, and waits to open it. */
async function isMarked(variable: string, gate: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  const found = await Promise.all(
    pids.map(async (pid) =>
      (await read(pid, "environ")).split("\0").includes(variable) &&
      (await read(pid, "cmdline")).includes(`nckubelet-inside\0${gate.slice(0, -"/cgroup.procs".length)}\0`)
    ),
  );
  return found.includes(true);
}

test("a way in that is gone or damaged is lost; one that cannot be read at the moment is not", async () => {
  const enter = (folder: string) => runInside(folder, ["true"], { timeoutMs });
  const breaks = {
    "no environment": (run: Run) => rm(run.environment),
    "no way in": (run: Run) => rm(run.inside),
    "half of it": (run: Run) => writeFile(run.inside, '{"leaf": "'),
    "something else": (run: Run) => writeFile(run.inside, "{}"),
  };
  for (const [name, harm] of Object.entries(breaks)) {
    await using run = await enterable();
    assert.equal((await enter(run.folder)).code, 0);
    await harm(run);
    await assert.rejects(enter(run.folder), LostWayInError, name);
    await assert.rejects(insideCommand(run.folder, ["true"]), LostWayInError, name);
  }
  await using run = await enterable();
  await rm(run.inside);
  await mkdir(run.inside);
  await assert.rejects(enter(run.folder), (error: Error) => {
    assert.ok(!(error instanceof LostWayInError));
    return /EISDIR/.test(error.message);
  });
});

type Run = Awaited<ReturnType<typeof enterable>>;
