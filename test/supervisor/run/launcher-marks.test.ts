import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";
import { launcherScript } from "../../../src/supervisor/run/launcher-script.ts";
import {
  cancelRun,
  listMarkedRuns,
  prepareMarks,
  readMarks,
  removeMarks,
  waitForLauncher,
} from "../../../src/supervisor/run/launcher-marks.ts";
import { tempFolder } from "../../temp-folder.ts";

async function place() {
  const temp = tempFolder();
  const folder = temp.path;
  const paths = {
    mark: join(folder, "marks-run-1"),
    log: join(folder, "log"),
    environment: join(folder, "environment"),
    launcher: join(folder, "launcher.sh"),
  };
  await Promise.all([
    writeFile(paths.launcher, launcherScript),
    writeFile(paths.environment, ""),
    writeFile(paths.log, ""),
  ]);
  const launch = async (...command: string[]) => {
    const child = spawn("/bin/sh", [
      paths.launcher,
      paths.mark,
      "",
      "",
      paths.log,
      paths.environment,
      ...command,
    ], { stdio: "ignore" });
    return (await once(child, "exit"))[0] as number;
  };
  return { folder, ...paths, launch, [Symbol.dispose]: temp.remove };
}

for (
  const [what, command, code] of [
    ["an exit status", "exit 7", 7],
    ["success", "exit 0", 0],
    ["a signal", "kill -9 $$", 137],
  ] as const
) {
  test(`the launcher records ${what}, with the processes that it was about`, async () => {
    await using run = await place();
    await prepareMarks(run.mark);
    await run.launch("sh", "-c", `echo $$; ${command}`);
    const marks = readMarks(run.mark);
    assert.equal(marks.exit?.code, code);
    assert.equal(marks.claim, "launcher");
    assert.equal(marks.started?.main.pid, Number(await readFile(run.log, "utf8")));
    assert.notEqual(marks.launcher?.pid, marks.started?.main.pid);
  });
}

test("a run that was canceled is not started by a later launcher", async () => {
  await using run = await place();
  await prepareMarks(run.mark);
  await cancelRun(run.mark);
  await run.launch("sh", "-c", "echo ran");
  assert.equal(await readFile(run.log, "utf8"), "");
  assert.equal(readMarks(run.mark).claim, "cancelled");
});

test("a run that its launcher has claimed cannot be canceled any more", async () => {
  await using run = await place();
  await prepareMarks(run.mark);
  await run.launch("true");
  await cancelRun(run.mark);
  assert.equal(readMarks(run.mark).claim, "launcher");
});

test("a run whose exit was not written yet has none", async () => {
  await using run = await place();
  await prepareMarks(run.mark);
  assert.deepEqual(readMarks(run.mark), {
    claim: "none",
    launcher: undefined,
    started: undefined,
    failure: undefined,
    exit: undefined,
  });
});

test("the launcher writes why it cannot enter the cgroup", async () => {
  await using run = await place();
  await prepareMarks(run.mark);
  const child = spawn("/bin/sh", [
    run.launcher,
    run.mark,
    "",
    "/no/such/cgroup",
    run.log,
    run.environment,
    "true",
  ], { stdio: "ignore" });
  await once(child, "exit");
  assert.equal(readMarks(run.mark).failure, "cannot enter /no/such/cgroup");
});

test("an app is not started with SIGINT or SIGQUIT ignored", async () => {
  await using run = await place();
  await prepareMarks(run.mark);
  await run.launch("sh", "-c", "grep SigIgn /proc/self/status");
  const ignored = parseInt(/SigIgn:\s*(\w+)/.exec(await readFile(run.log, "utf8"))?.[1] ?? "", 16);
  assert.equal(ignored & 0b110, 0);
});

test("listMarkedRuns() and removeMarks() know all files of a run", async () => {
  await using run = await place();
  const folder = join(run.folder, "marks");
  await mkdir(folder);
  await prepareMarks(join(folder, "run-1"));
  await cancelRun(join(folder, "run-1"));
  assert.deepEqual(await listMarkedRuns(folder), ["run-1"]);
  await removeMarks(join(folder, "run-1"));
  assert.deepEqual(await readdir(folder), []);
});

test("waitForLauncher() waits until the launcher has written its last mark", async () => {
  await using run = await place();
  const { mark } = run;
  await prepareMarks(mark);
  const gate = join(run.folder, "gate");
  const ended = run.launch("/bin/sh", "-c", `until [ -e '${gate}' ]; do sleep 0.01; done`);
  await waitFor("it has started", async () => readMarks(mark).started);
  await assert.rejects(
    waitForLauncher(mark, { timeoutMs: 50 }),
    /the launcher of .*, process \d+, does not exit/,
  );
  const waiting = waitForLauncher(mark);
  await writeFile(gate, "");
  await waiting;
  assert.equal(readMarks(mark).exit?.code, 0);
  await ended;
});
