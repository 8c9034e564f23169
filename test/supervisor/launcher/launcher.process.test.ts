/** What a launcher promises, run against that of this machine, one with sanitizers, and that for arm64 in an emulator. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, statfsSync } from "node:fs";
import { chmod, copyFile, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { test as runTest } from "node:test";
import { cleanPath } from "../../../src/lib/shell.ts";
import {
  cancelRun,
  encodeEnvironment,
  findOutput,
  prepareMarks,
  readMarks,
  waitForLauncher,
} from "../../../src/supervisor/run/run.ts";
import { type PipeRef } from "../../../src/supervisor/launcher/launcher.ts";
import { parseStat, readStat } from "../../../src/supervisor/processes.ts";
import { builtLauncher, emulatedLauncher, sanitizedLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { assertNumbers, listLog, readJoined, setLimits } from "../logs/log-files.ts";
import { waitFor } from "../../wait-for.ts";
import { createPlace } from "./place.ts";

const kinds = { native: builtLauncher, sanitized: sanitizedLauncher, arm64: emulatedLauncher };
const skipAll = skipUnless("compilers");
const skipEmulated = skipAll || await skipUnlessEmulated();
const isRoot = process.getuid?.() === 0;

for (const [kind, find] of Object.entries(kinds)) {
  // QEMU's user mode shows other start times than the kernel, and has no subreapers.
  const isEmulated = kind === "arm64";
  const skip = isEmulated ? skipEmulated : skipAll;
  const test = (name: string, fn: () => Promise<void>) => runTest(`${kind}: ${name}`, { skip }, fn);
  const place = async () => await createRun(await find());

  for (
    const [what, command, code, signal] of [
      ["an exit status", "exit 7", 7, 0],
      ["success", "exit 0", 0, 0],
      ["a signal", "kill -9 $$", 137, 9],
      ["an exit status that looks like a signal", "exit 137", 137, 0],
    ] as const
  ) {
    test(`a launcher records ${what}, with the processes that it was about`, async () => {
      using run = await place();
      const marks = await run.launch(["sh", "-c", `echo $$; ${command}`]);
      assert.deepEqual([marks.exit?.code, marks.exit?.signal], [code, signal]);
      assert.equal(marks.claim, "launcher");
      assert.equal(marks.started?.main.pid, Number(await run.readLog()));
      assert.notEqual(marks.launcher?.pid, marks.started?.main.pid);
    });
  }

  test("a run that was canceled is not started by a later launcher", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    await cancelRun(run.mark);
    await run.start(["sh", "-c", "echo ran"]);
    await run.launchAnother();
    assert.equal(await run.readLog(), "");
    assert.equal(readMarks(run.mark).claim, "cancelled");
  });

  test("a run that its launcher has claimed cannot be canceled any more, and is not started again", async () => {
    using run = await place();
    await run.launch(["sh", "-c", "echo ran"]);
    await cancelRun(run.mark);
    await run.start(["sh", "-c", "echo ran again"]);
    await run.launchAnother();
    assert.equal(readMarks(run.mark).claim, "launcher");
    assert.equal(await run.readLog(), "ran\n");
  });

  test("the launcher writes why it cannot enter a cgroup", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    await run.start(["true"], { leaf: "/no/such/cgroup" });
    const failure = await waitFor("the mark", () => readMarks(run.mark).failure);
    assert.equal(failure, "cannot enter /no/such/cgroup");
    await using other = await place();
    prepareMarks(other.mark, dirname(other.mark));
    await other.start(["true"], {}, { keeper: "/no/such/keeper" });
    assert.equal(
      await waitFor("the mark", () => readMarks(other.mark).failure),
      "cannot enter /no/such/keeper",
    );
  });

  test("a script starts with no signal ignored or blocked, in a session of its own", async () => {
    using run = await place();
    // Not by a shell, which unblocks signals itself.
    const { started } = await run.launch(["cat", "/proc/self/status", "/proc/self/stat"]);
    const [blocked = "", ignored = "", stat = ""] = (await run.readLog()).split("\n")
      .filter((line) => /^Sig(Blk|Ign)|^\d+ \(/.test(line));
    const setOf = (line: string) => BigInt(`0x${/\w+$/.exec(line)?.[0]}`);
    assert.deepEqual([ignored, blocked].map(setOf), [0n, 0n], `${ignored} ${blocked}`);
    assert.equal(parseStat(stat)?.session, started?.main.pid);
  });

  test("the launcher adds to the exit status that SIGTERM reached it, too", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    await run.start(["/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"]);
    await waitFor("it handles SIGTERM", async () => (await run.readLog()).includes("ready"));
    const { launcher, started } = readMarks(run.mark);
    process.kill(launcher!.pid, "SIGTERM");
    process.kill(started!.main.pid, "SIGTERM");
    const { exit } = await run.ended();
    assert.deepEqual([exit?.code, exit?.terminated], [7, true]);
  });

  test("the exit mark needs no more bytes than were reserved for it", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    const reserved = (await readFile(`${run.mark}.exit`)).length;
    await run.start(["/bin/sh", "-c", "echo ready; while :; do sleep 0.01; done"]);
    await waitFor("it runs", async () => (await run.readLog()).includes("ready"));
    const { launcher, started } = readMarks(run.mark);
    process.kill(launcher!.pid, "SIGTERM");
    process.kill(started!.main.pid, "SIGKILL");
    const { exit } = await run.ended();
    assert.equal(exit?.terminated, true);
    assert.equal((await readFile(`${run.mark}.exit`)).length, reserved);
  });

  test("an exit mark that was replaced meanwhile, as by a copy of the state folder, gets the status", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    const gate = join(run.folder, "gate");
    await run.start(["/bin/sh", "-c", `until [ -e '${gate}' ]; do sleep 0.01; done; exit 7`]);
    await waitFor("it has started", () => readMarks(run.mark).started);
    await copyFile(`${run.mark}.exit`, `${run.mark}.copy`);
    await rename(`${run.mark}.copy`, `${run.mark}.exit`);
    await writeFile(gate, "");
    assert.equal((await run.ended()).exit?.code, 7);
  });

  test("an environment that cannot be read is status 126, and the script does not run without it", async () => {
    using run = await place();
    await rm(run.environment);
    await mkdir(run.environment);
    assert.equal((await run.launch(["echo", "ran"])).exit?.code, 126);
    assert.doesNotMatch(await run.readLog(), /^ran$/m);
  });

  test("the environment is exactly that of the file, with every kind of value", async () => {
    using run = await place();
    const environment = {
      PATH: cleanPath,
      EMPTY: "",
      QUOTES: `it's "quoted" '' \\ 'x`,
      LINES: "one\n\ntwo\n",
      SHELL_TEXT: "$HOME `id` $(id) \\$x; # & |",
      EQUALS: "a=b=c",
      BYTES: "é \u{1f600} \t\u0001",
      LD_PRELOAD: "",
    };
    await writeFile(run.environment, encodeEnvironment(environment));
    await run.launch(["env", "-0"]);
    const variables = (await run.readLog()).split("\0").filter(Boolean).map((text) => {
      const at = text.indexOf("=");
      return [text.slice(0, at), text.slice(at + 1)];
    });
    const { PWD, ...shown } = Object.fromEntries(variables);
    assert.deepEqual([shown, PWD], [environment, "/"]);
  });

  test("a command is found on the PATH of the run; one that is not there is status 127, one that cannot be executed 126", async () => {
    using run = await place();
    const bin = join(run.folder, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "tool"), 'echo "tool $1"\n', { mode: 0o755 });
    await writeFile(join(bin, "locked"), "echo locked\n", { mode: 0o644 });
    await writeFile(run.environment, encodeEnvironment({ PATH: `/no/such/folder:${bin}:${cleanPath}` }));
    assert.equal((await run.launch(["tool", "with args"])).exit?.code, 0);
    assert.equal(await run.readLog(), "tool with args\n");
    for (const [command, code] of [["no-such-tool", 127], [join(bin, "locked"), 126]] as const) {
      await using next = await place();
      assert.equal((await next.launch([command])).exit?.code, code, command);
      assert.match(await next.readLog(), new RegExp(`${command}.*: `));
    }
  });

  test("a folder that is gone is status 126, and the log says so", async () => {
    using run = await place();
    const { exit } = await run.launch(["true"], { workingDir: "/no/such/folder" });
    assert.equal(exit?.code, 126);
    assert.match(await run.readLog(), /\/no\/such\/folder/);
  });

  if (isRoot) {
    test("a script is another user with exactly its groups, no capability and no new privileges", async () => {
      using run = await place();
      await run.launch(
        ["sh", "-c", "id -u; id -g; id -G; grep -e Cap -e NoNew /proc/self/status; echo >/proc/self/fd/1"],
        { user: "65534 65533 4 100000" },
      );
      const [uid, gid, groups, ...status] = (await run.readLog()).trim().split("\n");
      assert.deepEqual([uid, gid, groups], ["65534", "65533", "65533 4 100000"]);
      const sets = status.filter((line) => /^Cap(Inh|Prm|Eff|Amb)/.test(line));
      assert.deepEqual(sets.map((line) => /[0-9a-f]+$/.exec(line)?.[0]), Array(4).fill("0".repeat(16)));
      assert.ok(status.includes("NoNewPrivs:\t1"));
    });
  }

  if (!isEmulated) {
    test("waitForLauncher() waits until the launcher has written its last mark", async () => {
      using run = await place();
      prepareMarks(run.mark, dirname(run.mark));
      const gate = join(run.folder, "gate");
      await run.start(["/bin/sh", "-c", `until [ -e '${gate}' ]; do sleep 0.01; done`]);
      await waitFor("it has started", () => readMarks(run.mark).started);
      await assert.rejects(
        waitForLauncher(run.mark, { timeoutMs: 50 }),
        /the launcher of .*, process \d+, does not exit/,
      );
      const waiting = waitForLauncher(run.mark);
      await writeFile(gate, "");
      await waiting;
      assert.equal(readMarks(run.mark).exit?.code, 0);
    });
  }

  test("a run whose marks were removed is not started by a launcher that comes late", async () => {
    using run = await place();
    await run.start(["sh", "-c", "echo ran"]);
    await run.launchAnother();
    assert.deepEqual([readMarks(run.mark).claim, await run.readLog()], ["none", ""]);
  });

  test("a log or an environment that cannot be opened is named in the failure mark", async () => {
    for (const [what, change] of [["log", { log: "/proc/no/log" }], ["environment", {}]] as const) {
      using run = await place();
      prepareMarks(run.mark, dirname(run.mark));
      const environment = what === "environment" ? { environment: "/no/environment" } : {};
      await run.start(["true"], environment, change);
      const failure = await waitFor("the mark", () => readMarks(run.mark).failure);
      assert.equal(
        failure,
        `cannot open the ${what} ${what === "log" ? "/proc" : ""}/no/${what}: No such file or directory`,
      );
    }
  });

  for (const user of isRoot ? ["", "65534 65533"] : [""]) {
    test(`an app${user && " of another user"} may open /dev/stdout and /dev/stderr again, and its log keeps all`, async () => {
      using run = await place();
      const lines = [
        "echo 1",
        "echo 2 >/dev/stderr",
        "echo 3 >/dev/stdout",
        "echo 4 >>/dev/stderr",
        "echo 5 >&2",
      ];
      const { exit } = await run.launch(["sh", "-ec", lines.join("\n")], { user });
      assert.deepEqual([await run.readLog(), exit?.code], ["1\n2\n3\n4\n5\n", 0]);
    });
  }

  test("lines of several processes arrive once each while the log is rotated", async () => {
    using run = await place();
    const [writers, each] = [4, 25_000];
    await mkdir(run.log);
    await setLimits(run.log, 2 ** 17, 200);
    // Whole lines of 100 bytes: writes of up to 4096 bytes to a pipe are not divided.
    const write = (first: number) =>
      `seq -f '%012.0f ${"x".repeat(86)}' ${first} ${first + each - 1} |
        dd bs=4000 iflag=fullblock status=none &`;
    const lines = Array.from({ length: writers }, (_, index) => write(index * each + 1));
    await run.launch(["sh", "-c", [...lines, "wait"].join("\n")]);
    const files = await listLog(run.log);
    assert.ok(files.length > 50, `${files.length} parts`);
    for (const { name, text } of files) assert.ok(text.length <= 2 ** 17, name);
    const sorted = (await readJoined(run.log)).trimEnd().split("\n").sort();
    assertNumbers(sorted.map((line) => `${line}\n`).join(""), writers * each);
  });

  runTest(
    `${kind}: a log on a full disk loses its oldest lines first, then new ones; its app goes on, and the log says what it lacks`,
    { skip },
    async (t) => {
      using run = await place();
      const disk = join(run.folder, "disk");
      await mkdir(disk);
      if (!isRoot || spawnSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", disk]).status !== 0) {
        return t.skip("no file system can be mounted here");
      }
      using _disk = { [Symbol.dispose]: () => spawnSync("umount", ["-l", disk]) };
      const [log, ballast, gate] = [join(disk, "log"), join(disk, "ballast"), join(run.folder, "gate")];
      await mkdir(log);
      await setLimits(log, 65_536, 1000);
      const pass = (name: string) =>
        `: >'${gate}-${name}'; until [ -e '${gate}-${name}-go' ]; do sleep 0.01; done`;
      const body = `seq 200000; ${pass("old")}; seq 50000; ${pass("new")}; echo last`;
      prepareMarks(run.mark, dirname(run.mark));
      await run.start(["sh", "-ec", body], {}, { log });
      await waitFor("the app goes on", () => existsSync(`${gate}-old`));
      const kept = async () => (await listLog(log)).map(({ text }) => text).join("");
      await waitFor("its last line", async () => (await kept()).endsWith("\n199999\n200000\n"));
      assert.equal((await kept()).includes("nckubelet:"), false, "no new line was lost");
      // Nothing but the last part is left, and there is no space for more.
      const files = await listLog(log);
      for (const { name } of files.slice(0, -1)) await rm(join(log, name));
      await writeFile(ballast, "x".repeat(500_000)).catch(() => {});
      await writeFile(`${gate}-old-go`, "");
      await waitFor("the app goes on", () => existsSync(`${gate}-new`));
      await waitFor("all of it was read", () => statfsSync(disk).bavail === 0);
      await rm(ballast);
      await writeFile(`${gate}-new-go`, "");
      assert.equal((await run.ended()).exit?.code, 0);
      assert.match(
        await kept(),
        /\nnckubelet: up to \d+ bytes of output are lost: No space left on device\n[^]*last\n$/,
      );
    },
  );

  test("an environment file that is damaged is loaded by nobody", async () => {
    for (
      const text of [
        "export A=1\n",
        "A='1'\n",
        "export A='1'",
        "export A='1\n",
        "export ='1'\n",
        "id\n",
        "export A='\0'\n",
      ]
    ) {
      using run = await place();
      await writeFile(run.environment, text);
      assert.equal((await run.launch(["echo", "ran"])).exit?.code, 126, JSON.stringify(text));
      assert.equal(
        await run.readLog(),
        "nckubelet: cannot load the environment: the file of the run is damaged\n",
      );
    }
  });

  if (isEmulated) continue;
  test("an app whose launcher is killed runs on; one copier takes over its log, from its pipe only, until it ends", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    const [gate, alone, wrote] = ["gate", "alone", "wrote"].map((name) => join(run.folder, name));
    // More than fits into the pipe.
    const body = `echo first; until [ -e '${gate}' ]; do sleep 0.01; done
      echo alone; echo >'${alone}'; head -c 200000 /dev/zero; echo >'${wrote}'; until [ ! -e '${gate}' ]; do sleep 0.01; done; echo last >/dev/stderr`;
    await run.start(["sh", "-c", body]);
    await waitFor("its first line", async () => (await run.readLog()) === "first\n");
    const { launcher, started } = readMarks(run.mark);
    const pid = started!.main.pid;
    using _end = { [Symbol.dispose]: () => readStat(pid) && process.kill(pid, "SIGKILL") };
    process.kill(launcher!.pid, "SIGKILL");
    await waitFor("its end", () => !readStat(launcher!.pid));
    await writeFile(gate!, "");
    await waitFor("it writes, though nobody reads", () => existsSync(alone!));
    const pipe = launcher!.pipe!;
    // Not the pipe, and a pipe of nobody.
    assert.equal(await run.copy(pipe, `/proc/${pid}/fd/0`), 125);
    assert.equal(await run.copy("pipe:[1]", `/proc/${pid}/fd/1`), 125);
    assert.deepEqual([readMarks(run.mark).copier, existsSync(wrote!)], [undefined, false]);
    const copies = [0, 1, 2].map(() => run.copy(pipe, `/proc/${pid}/fd/1`));
    await waitFor("it can write", () => existsSync(wrote!));
    const { copier } = await waitFor("a copier", () => readMarks(run.mark).copier && readMarks(run.mark));
    assert.deepEqual([await Promise.any(copies), readStat(copier!.pid)?.startTime], [125, copier!.startTime]);
    await rm(gate!);
    assert.deepEqual((await Promise.all(copies)).sort(), [0, 125, 125]);
    assert.equal(await run.readLog(), `first\nalone\n${"\0".repeat(200_000)}last\n`);
  });

  test("a command that enters the run with the pipe of its launcher as its log may open /dev/stderr again", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    await run.start(["sh", "-c", "echo first; exec sleep 600"]);
    await waitFor("its first line", async () => (await run.readLog()) === "first\n");
    const { launcher, started } = readMarks(run.mark);
    using _end = { [Symbol.dispose]: () => process.kill(started!.main.pid, "SIGKILL") };
    const output = findOutput(run.mark);
    assert.deepEqual(output, { pipe: launcher!.pipe, source: `/proc/${launcher!.pid}/fd/0` });
    await run.enter(["sh", "-c", "echo second >/dev/stderr"], output);
    await waitFor("its line", async () => (await run.readLog()) === "first\nsecond\n");
  });

  test("a command that enters a run writes to the log if the pipe is not where it was, and to nothing else", async () => {
    using run = await place();
    const other = join(run.folder, "other");
    await writeFile(other, "untouched");
    await using file = await open(other, "r+");
    for (const source of [`/proc/${process.pid}/fd/${file.fd}`, "/proc/none/fd/0"]) {
      await run.enter(["sh", "-c", "echo heard"], { pipe: "pipe:[1]", source });
    }
    await waitFor("its lines", async () => await run.readLog() === "heard\nheard\n");
    assert.equal(await readFile(other, "utf8"), "untouched");
  });

  test("a command that enters a run whose processes have closed their outputs is heard all the same", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    await run.start(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"]);
    const { launcher } = await waitFor("the end of the script", () => {
      const marks = readMarks(run.mark);
      return marks.exit && marks;
    });
    const pid = Number(await run.readLog());
    using _end = { [Symbol.dispose]: () => process.kill(pid, "SIGKILL") };
    await waitFor("the launcher has seen the end of the pipe, and sleeps", () => {
      return readStat(launcher!.pid)?.state === "S";
    });
    // More than fits into the pipe.
    const body = "head -c 200000 /dev/zero >/dev/stderr; echo stopped";
    await run.enter(["sh", "-c", body], findOutput(run.mark));
    await waitFor("its last line", async () => (await run.readLog()).endsWith("\0stopped\n"));
  });

  test("without a cgroup the launcher stays until the last process that the script left behind has ended", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    const pidFile = join(run.folder, "pid");
    const hide = `(env -i setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' >/dev/null 2>&1 &)`;
    await run.start(["sh", "-c", `${hide}; while [ ! -s ${pidFile} ]; do sleep 0.01; done; exit 3`]);
    const { launcher } = await waitFor("its end", () => {
      const marks = readMarks(run.mark);
      return marks.exit?.code === 3 ? marks : undefined;
    });
    const left = readStat(Number(await readFile(pidFile, "utf8")));
    assert.equal(left?.parent, launcher?.pid);
    assert.equal(readMarks(run.mark).exit?.last, "unknown");
    process.kill(left!.pid, "SIGKILL");
    await waitForLauncher(run.mark);
    const { exit } = readMarks(run.mark);
    assert.deepEqual([exit?.code, exit?.last], [3, { code: 137, signal: 9 }]);
  });

  test("a failure of a daemon is not hidden by its workers, which end well soon after it", async () => {
    using run = await place();
    prepareMarks(run.mark, dirname(run.mark));
    const gate = join(run.folder, "gate");
    const wait = `until [ -e '${gate}' ]; do sleep 0.01; done`;
    await run.start(["sh", "-c", `setsid sh -c "(${wait}; sleep 0.1) & ${wait}; exit 9" & exit 0`]);
    await waitFor("the script's end", () => readMarks(run.mark).exit);
    await writeFile(gate, "");
    await waitForLauncher(run.mark);
    const { exit } = readMarks(run.mark);
    assert.deepEqual([exit?.code, exit?.last], [0, { code: 9, signal: 0 }]);
  });
}

/** Like `skipUnless`: the compilers of this machine alone are no compilers for arm64. */
async function skipUnlessEmulated(): Promise<string | false> {
  try {
    await emulatedLauncher();
    const { error } = spawnSync("qemu-aarch64-static", ["--version"]);
    if (error) throw error;
    return false;
  } catch (error) {
    if (process.env.CI === "true") throw error;
    return `${(error as Error).message}; run test/harness/install-parts.sh compilers as root on Debian 12`;
  }
}

async function createRun(helper: string) {
  const place = await createPlace(helper);
  const { folder, launcher, log, context } = place;
  await chmod(folder, 0o755);
  const mark = join(folder, "run");
  const run = {
    ...place,
    mark,
    /** Runs a copier; returns its exit status. */
    async copy(pipe: string, source: string): Promise<number> {
      const [file = "", ...args] = launcher.copyCommand({ mark, log, pipe, source });
      return (await once(spawn(file, args, { stdio: "ignore" }), "exit"))[0];
    },
    async enter(command: string[], output: PipeRef | undefined): Promise<void> {
      const [file = "", ...args] = launcher.enterCommand(context, command, { log, output });
      assert.deepEqual(await once(spawn(file, args, { stdio: "ignore" }), "exit"), [0, null]);
    },
    start: (
      command: string[],
      change: Partial<typeof context> = {},
      fields: { keeper?: string; log?: string } = {},
    ) => launcher.start({ mark, keeper: "", log, context: { ...context, ...change }, command, ...fields }),
    ended: () => place.ended(mark),
    async launch(command: string[], change?: Partial<typeof context>) {
      prepareMarks(mark, dirname(mark));
      await run.start(command, change);
      return await run.ended();
    },
    /** By the time that a later run has ended, an earlier launcher has done what it does. */
    async launchAnother() {
      const other = `${mark}-other`;
      prepareMarks(other, dirname(other));
      const command = ["sleep", "0.1"];
      await launcher.start({ mark: other, keeper: "", log: `${log}-other`, context, command });
      await waitFor("its end", () => readMarks(other).exit);
    },
  };
  return run;
}
