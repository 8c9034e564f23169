import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  execCommandLine,
  execInRun,
  readLeaf,
  readRunContext,
  RunContextLostError,
  saveRunContext,
} from "../../../src/supervisor/run/run.ts";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { readJoined } from "../logs/log-files.ts";
import { enterable } from "./enterable-run.ts";

test("the context of a run is accepted only if it can be of this run", async (t) => {
  const folder = tempFolder(t).path;
  const runId = basename(folder);
  const environment = join(folder, "environment");
  const context = { leaf: "", user: "", workingDir: "/", environment };
  for (const leaf of ["", `/sys/fs/cgroup/nckubelet/default_web/${runId}`]) {
    await rm(join(folder, "inside.json"), { force: true });
    saveRunContext(folder, { ...context, leaf });
    assert.deepEqual([await readLeaf(folder), await readRunContext(folder)], [leaf, { ...context, leaf }]);
  }
  const strange = [
    ...["/etc", `/sys/../etc/${runId}`, `etc/${runId}`, "/", 7, null, undefined].map((leaf) => ({
      ...context,
      leaf,
    })),
    { ...context, user: 7 },
    { ...context, workingDir: undefined },
    { ...context, environment: undefined },
    null,
    [],
  ];
  for (const value of strange) {
    await writeFile(join(folder, "inside.json"), JSON.stringify(value));
    await assert.rejects(readRunContext(folder), /inside\.json is damaged/);
    assert.equal(await readLeaf(folder), undefined);
  }
});

const timeoutMs = 60_000;

const skip = skipUnless("compilers");
const open = async () => entranceOf(await builtLauncher());

test(
  `exec processes and what they start carry the exec marker; a stop file does not`,
  { skip },
  async () => {
    await using run = await enterable();
    const launcher = await open();
    const show = ["sh", "-c", "env | grep -e ^APP= -e ^NCAPP_VISITOR= | sort"];
    const shown = `APP=web\nNCAPP_VISITOR=${run.runId}\n`;
    assert.equal(
      (await execInRun(run.folder, show, { timeoutMs, launcher, captureBytes: 1024 })).output,
      shown,
    );
    const [file = "", ...args] = await execCommandLine(run.folder, show, { launcher });
    assert.equal((await promisify(execFile)(file, args)).stdout, shown);
    const log = join(run.folder, "log");
    await execInRun(run.folder, show, { timeoutMs, launcher, log });
    await waitFor("its line", async () => await readJoined(log) === "APP=web\n");
  },
);

test(`an exec process carries its marker before it enters the cgroup`, { skip }, async () => {
  const launcher = await open();
  using temp = tempFolder();
  const root = temp.path;
  await using run = await enterable(root);
  const fifo = join(run.leaf, "cgroup.procs");
  await mkdir(run.leaf);
  // A process that enters waits here until the test reads.
  execFileSync("mkfifo", [fifo]);
  const [file = "", ...args] = await execCommandLine(run.folder, ["true"], { launcher });
  const execs = [
    () => execInRun(run.folder, ["true"], { timeoutMs, launcher }),
    () => promisify(execFile)(file, args),
  ];
  for (const exec of execs) {
    const done = exec();
    try {
      const isWaiting = () => isMarked(`NCAPP_VISITOR=${run.runId}`, fifo);
      await waitFor("a marked process at the fifo", isWaiting, 10_000);
    } finally {
      assert.equal(await readFile(fifo, "utf8"), "0\n");
      await done;
    }
  }
});

test(`a run that cannot be entered is reported, and nothing is executed`, { skip }, async () => {
  await using run = await enterable("/no/such/cgroup");
  const { code, output, notExecuted } = await execInRun(run.folder, ["echo", "ran"], {
    timeoutMs,
    launcher: await open(),
    captureBytes: 1024,
  });
  const why = `cannot enter ${run.leaf}: No such file or directory`;
  assert.deepEqual([code, output, notExecuted], [126, `nckubelet: ${why}\n`, why]);
});

test(
  "a command that cannot be executed is told from one that ends with the same status",
  { skip },
  async () => {
    await using run = await enterable();
    const launcher = await open();
    const plain = join(run.folder, "plain");
    await writeFile(plain, "#!/bin/sh\n", { mode: 0o644 });
    const ended = async (...command: string[]) => {
      const { code, notExecuted } = await execInRun(run.folder, command, { timeoutMs, launcher });
      return [code, notExecuted];
    };
    assert.deepEqual(await ended("/no/such/program"), [127, "cannot execute /no/such/program: not found"]);
    assert.deepEqual(await ended("echo a"), [127, "cannot execute echo a: not found"]);
    assert.deepEqual(await ended(plain), [126, `cannot execute ${plain}: Permission denied`]);
    for (const code of [125, 126, 127]) {
      assert.deepEqual(await ended("sh", "-c", `exit ${code}`), [code, undefined]);
    }
    // The command does not have the descriptor, so it cannot write there.
    const claims = "ls /proc/self/fd | tr '\\n' ' '; echo nckubelet: cannot execute it >&3";
    const { output, notExecuted } = await execInRun(run.folder, ["sh", "-c", claims], {
      timeoutMs,
      launcher,
      captureBytes: 1024,
    });
    assert.match(output, /^0 1 2 3 /, "3 is the folder that ls reads");
    assert.equal(notExecuted, undefined);
  },
);

test(
  `a command has a session of its own, except on a terminal, which has one`,
  { skip },
  async () => {
    await using run = await enterable();
    const launcher = await open();
    const show = ["sh", "-c", "cut -d' ' -f6 /proc/$$/stat; echo $$"];
    const { output } = await execInRun(run.folder, show, { timeoutMs, launcher, captureBytes: 1024 });
    const [session, pid] = output.trim().split("\n");
    assert.equal(session, pid);
    const [file = "", ...args] = await execCommandLine(run.folder, show, { launcher, onTerminal: true });
    const [same] = (await promisify(execFile)(file, args)).stdout.trim().split("\n");
    assert.equal(Number(same), readStat(process.pid)?.session);
  },
);

test(`a timeout kills the command with all that it started`, { skip }, async () => {
  await using run = await enterable();
  const pidFile = join(run.folder, "pid");
  const command = ["sh", "-c", `sleep 300 & echo $! >${pidFile}; wait`];
  const done = execInRun(run.folder, command, { timeoutMs: 1500, launcher: await open() });
  const pid = await waitFor("the pid", async () => Number(await readFile(pidFile, "utf8").catch(() => "")));
  assert.deepEqual([(await done).timedOut, (await done).signal], [true, "SIGKILL"]);
  await waitFor("its child is gone", () => readStat(pid) === undefined);
});

/** Reports whether a process with this variable waits to open the fifo. */
async function isMarked(variable: string, fifo: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  const found = await Promise.all(
    pids.map(async (pid) =>
      (await read(pid, "environ")).split("\0").includes(variable) &&
      (await read(pid, "cmdline")).includes(`\0${fifo.slice(0, -"/cgroup.procs".length)}\0`)
    ),
  );
  return found.includes(true);
}

test(
  "a context that is gone or damaged is lost; one that cannot be read at the moment is not",
  { skip },
  async () => {
    const launcher = await open();
    const enter = (folder: string) => execInRun(folder, ["true"], { timeoutMs, launcher });
    const breaks = {
      "no environment": (run: Run) => rm(run.environment),
      "no context": (run: Run) => rm(run.context),
      "half of it": (run: Run) => writeFile(run.context, '{"leaf": "'),
      "something else": (run: Run) => writeFile(run.context, "{}"),
    };
    for (const [name, harm] of Object.entries(breaks)) {
      await using run = await enterable();
      assert.equal((await enter(run.folder)).code, 0);
      await harm(run);
      await assert.rejects(enter(run.folder), RunContextLostError, name);
      await assert.rejects(execCommandLine(run.folder, ["true"], { launcher }), RunContextLostError, name);
    }
    await using run = await enterable();
    await rm(run.context);
    await mkdir(run.context);
    await assert.rejects(enter(run.folder), (error: Error) => {
      assert.ok(!(error instanceof RunContextLostError));
      return /EISDIR/.test(error.message);
    });
  },
);

type Run = Awaited<ReturnType<typeof enterable>>;
