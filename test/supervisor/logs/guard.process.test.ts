import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, statSync, symlinkSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { closeInheritedDescriptors } from "../../../src/lib/inherited-descriptors.ts";
import { endGuard, startGuard } from "../../../src/supervisor/logs/guard.ts";
import { readBootId, readStat } from "../../../src/supervisor/processes.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

closeInheritedDescriptors();
const keepBytes = 128 * 1024;
const pollSeconds = 0.05;

/** A log with a space in its path, and a process that appends numbered lines to it for as long as `go` exists. */
async function openLog(t: TestContext) {
  const folder = tempFolder(t).path;
  const layout = { stateDir: join(folder, "the state"), logDir: join(folder, "the logs") };
  const [log, go, link] = [
    join(layout.logDir, "app/app.log"),
    join(folder, "go"),
    join(layout.stateDir, "log-guard"),
  ];
  await Promise.all([mkdir(layout.stateDir), mkdir(dirname(log), { recursive: true }), writeFile(go, "")]);
  const script =
    'exec >>"$1"; while :; do while [ -e "$0" ]; do i=$((i + 1)); echo "line $i is whole"; done; sleep 0.01; done';
  const app = spawn("/bin/sh", ["-c", script, go, log], { stdio: "ignore" });
  t.after(() => app.kill("SIGKILL"));
  await waitFor("the log exists", () => existsSync(log));
  return { layout, log, go, link, app, table: `${log}\t${keepBytes}\n` };
}

const usedBytes = (path: string) => statSync(path).blocks * 512;
const guardPid = (link: string) => Number(readlinkSync(link).split(" ")[1]);
const isGone = (pid: number) => readStat(pid) === undefined;

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

test("the guard bounds the disk space of a log while an app writes, and every line that it keeps is whole", async (t) => {
  const { layout, log, go, link, table } = await openLog(t);
  await startGuard(layout, table, { pollSeconds });
  const pid = guardPid(link);
  for (let round = 1; round <= 3; round++) {
    const { size } = statSync(log);
    await waitFor("the log has grown far beyond its bound", () => statSync(log).size > size + 8 * keepBytes);
    rmSync(go);
    await waitFor("the guard has freed the rest", () => usedBytes(log) <= keepBytes + 4096);
    await writeFile(go, "");
  }
  await endGuard(layout);
  assert.ok(isGone(pid));
  assert.ok(!existsSync(link));
  rmSync(go);
  const text = await readFile(log, "latin1");
  const kept = text.slice(text.lastIndexOf("\0") + 1);
  assert.ok(kept.length >= keepBytes - 4096, `${kept.length} bytes`);
  const [first = "", ...lines] = kept.split("\n").slice(1, -1).map((line) =>
    /^line (\d+) is whole$/.exec(line)?.[1]
  );
  assert.deepEqual(lines, lines.map((_, i) => String(Number(first) + i + 1)));
});

test("the guard has no descriptor and no variable of the agent", async (t) => {
  const { layout, link, table } = await openLog(t);
  const kept: number[] = [];
  await startGuard(layout, table, { keep: (pid) => kept.push(pid) });
  const pid = guardPid(link);
  t.after(() => endGuard(layout));
  assert.deepEqual(kept, [pid]);
  const environment = await readFile(`/proc/${pid}/environ`, "latin1");
  const names = environment.split("\0").map((variable) => variable.split("=")[0]).sort();
  assert.deepEqual(names, ["", "LC_ALL", "PATH"]);
  const links = () =>
    readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).join();
  await waitFor("it has read its table and sleeps", () => {
    try {
      const own = links();
      // Deno cannot close what it was started with.
      return "deno" in process.versions
        ? own.startsWith("/dev/null,/dev/null,/dev/null")
        : own === "/dev/null,/dev/null,/dev/null";
    } catch {
      return false; // A pipe to a command, closed meanwhile.
    }
  });
});

test("a second guard does not start", async (t) => {
  const { layout, link, table } = await openLog(t);
  await startGuard(layout, table, { pollSeconds });
  t.after(() => endGuard(layout));
  const pid = guardPid(link);
  let second = 0;
  await assert.rejects(startGuard(layout, table, { keep: (id) => second = id }), /EEXIST|File exists/);
  await waitFor("the second has ended", () => isGone(second));
  assert.ok(guardPid(link) === pid && !isGone(pid));
});

test("the guard frees nothing while an agent holds the lock", async (t) => {
  const { layout, log, go, link, table } = await openLog(t);
  const lock = join(layout.stateDir, "agent.lock");
  symlinkSync("an agent", lock);
  await startGuard(layout, table, { pollSeconds });
  t.after(() => endGuard(layout));
  await waitFor("the log is too long", () => statSync(log).size > 8 * keepBytes);
  rmSync(go);
  assert.ok(usedBytes(log) > 8 * keepBytes);
  assert.ok(lstatSync(link));
  rmSync(lock);
  await waitFor("the guard frees space", () => usedBytes(log) <= keepBytes + 4096);
});

test("each of hundreds of logs keeps what its own bound says, also if others are gone", async (t) => {
  const { layout, log, go, table } = await openLog(t);
  const size = 64 * 1024;
  const logs = Array.from({ length: 300 }, (_, at) => {
    return { at, path: join(layout.logDir, `log-${at}`), bound: at % 3 === 0 ? 8192 : 2 * size };
  });
  const there = logs.filter(({ at }) => at % 10 !== 0);
  await Promise.all(there.map(({ path }) => writeFile(path, "x".repeat(size))));
  await waitFor("the last log is too long", () => statSync(log).size > 2 * keepBytes);
  rmSync(go);
  const lines = logs.map(({ path, bound }) => `${path}\t${bound}\n`).join("");
  await startGuard(layout, `${lines}${table}`, { pollSeconds });
  t.after(() => endGuard(layout));
  await waitFor("the logs are bounded", () => usedBytes(log) <= keepBytes + 4096);
  for (const { path, bound } of there) {
    assert.deepEqual([usedBytes(path), statSync(path).size], [Math.min(bound, size), size], path);
  }
});

test("the guard ends when no process writes to a log any more, when its state is gone, and without a log", async (t) => {
  const dead = await openLog(t);
  await startGuard(dead.layout, dead.table, { pollSeconds });
  const first = guardPid(dead.link);
  await kill(dead.app);
  await waitFor("the guard of a dead app is gone", () => isGone(first));
  assert.ok(!existsSync(dead.link));

  const removed = await openLog(t);
  await startGuard(removed.layout, removed.table, { pollSeconds });
  const second = guardPid(removed.link);
  rmSync(removed.layout.stateDir, { recursive: true });
  await waitFor("the guard of a removed state is gone", () => isGone(second));

  await mkdir(removed.layout.stateDir);
  await startGuard(removed.layout, "");
  assert.ok(!existsSync(removed.link));
});

test("endGuard() ends no process that has the guard's pid by chance", async (t) => {
  const { layout, link, app } = await openLog(t);
  const startTime = readStat(app.pid!)?.startTime;
  for (
    const target of [`${readBootId()} ${app.pid} 1`, `another-boot ${app.pid} ${startTime}`, "no process"]
  ) {
    symlinkSync(target, link);
    await endGuard(layout);
    assert.equal(app.exitCode ?? app.signalCode, null);
    assert.ok(!existsSync(link));
  }
});
