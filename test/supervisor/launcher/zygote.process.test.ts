import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { silentLogger } from "../../../src/lib/log.ts";
import { findHelper, installHelper } from "../../../src/supervisor/launcher/helper.ts";
import { openLauncher, Zygote, ZygoteLauncher } from "../../../src/supervisor/launcher/launcher.ts";
import { readMarks, waitForLauncher } from "../../../src/supervisor/run/run.ts";
import { isAlive, readStat } from "../../../src/supervisor/processes.ts";
import { StartError } from "../../../src/supervisor/types.ts";
import {
  builtLauncher,
  crashingLauncher,
  openTestLauncher,
  sanitizedLauncher,
} from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { createPlace } from "./place.ts";

const skip = skipUnless("compilers");

/** A place whose zygotes execute these files in turn, the last one for good. */
async function createPlaces(...paths: string[]) {
  const zygotes: Zygote[] = [];
  const place = await createPlace(paths[0]!, async () => {
    const zygote = await Zygote.start(paths[Math.min(zygotes.length, paths.length - 1)]!);
    zygotes.push(zygote);
    return zygote;
  });
  const start = (command = ["sh", "-c", "echo ran"], keeper?: string) => place.start(command, keeper);
  return { ...place, zygotes, start };
}

test("a zygote that was killed is replaced for the next request", { skip }, async () => {
  using place = await createPlaces(await builtLauncher());
  for (let round = 1; round <= 3; round++) {
    const mark = await place.start();
    await waitFor("its end", () => readMarks(mark).exit);
    assert.equal(place.zygotes.length, round);
    const pid = await place.launcher.pid();
    process.kill(pid, "SIGKILL");
    await waitFor("its end is known", () => place.zygotes.at(-1)?.end === "SIGKILL");
  }
  assert.equal(await place.readLog(), "ran\nran\nran\n");
});

test("whoever sees the exit mark sees all that the script wrote", { skip }, async () => {
  // Killed right behind the exit mark.
  using place = await createPlaces(await crashingLauncher(10));
  const gate = join(place.folder, "gate");
  const mark = await place.start([
    "sh",
    "-c",
    `until [ -e '${gate}' ]; do sleep 0.01; done; head -c 60000 /dev/zero; exit 7`,
  ]);
  const { launcher, started } = await waitFor("it has started", () => {
    const marks = readMarks(mark);
    return marks.started && marks;
  });
  process.kill(launcher!.pid, "SIGSTOP");
  await writeFile(gate, "");
  await waitFor("the script has ended", () => !readStat(started!.main.pid));
  process.kill(launcher!.pid, "SIGCONT");
  await waitFor("its end", () => !readStat(launcher!.pid));
  assert.deepEqual([readMarks(mark).exit?.code, (await place.readLog()).length], [7, 60_000]);
});

test(
  "the exit mark says whether the script left a process behind: a child, an orphan, or one with the pipe",
  { skip },
  async () => {
    using place = await createPlaces(await builtLauncher());
    const gate = join(place.folder, "gate");
    const waiting = `sh -c "until [ -e '${gate}' ]; do sleep 0.01; done"`;
    const exits = [
      "true",
      `${waiting} >/dev/null 2>&1 &`,
      `(setsid ${waiting} >/dev/null 2>&1 &)`,
      `${waiting} &`,
    ]
      .map(async (script) => {
        const mark = await place.start(["sh", "-c", script]);
        return { mark, ...await waitFor("its end", () => readMarks(mark).exit) };
      });
    const ended = await Promise.all(exits);
    await writeFile(gate, "");
    for (const { mark } of ended) await waitForLauncher(mark);
    assert.deepEqual(ended.map(({ alone }) => alone), [true, undefined, undefined, undefined]);
  },
);

test("requests at the same time share one zygote, and each gets its own answer", { skip }, async () => {
  using place = await createPlaces(await builtLauncher());
  const marks = await Promise.all(Array.from({ length: 20 }, () => place.start()));
  for (const mark of marks) assert.equal((await waitFor("its end", () => readMarks(mark).exit)).code, 0);
  assert.equal(place.zygotes.length, 1);
  assert.equal(await place.readLog(), "ran\n".repeat(20));
});

for (
  const [what, step] of [["before it has forked a launcher", 1], ["before it has answered", 2]] as const
) {
  test(`a run whose zygote is killed ${what} is started exactly once`, { skip }, async () => {
    using place = await createPlaces(await crashingLauncher(step), await builtLauncher());
    const mark = await place.start();
    await waitFor("its end", () => readMarks(mark).exit);
    // A later run has ended, too: nothing of the first one is under way.
    const next = await place.start(["true"]);
    await waitFor("its end", () => readMarks(next).exit);
    assert.equal(await place.readLog(), "ran\n");
    assert.equal(place.zygotes.length, 2);
  });
}

test("a zygote that does not answer is killed, and the next one starts the run once", { skip }, async () => {
  using place = await createPlaces(await builtLauncher());
  const first = await place.launcher.pid();
  const zygote = place.zygotes[0]!;
  process.kill(first, "SIGSTOP");
  await assert.rejects(zygote.request(new Uint8Array(4), 50), /no answer in 0\.05 s/);
  const mark = await place.start();
  await waitFor("its end", () => readMarks(mark).exit);
  await waitFor("the first one is gone", () => readStat(first) === undefined);
  assert.equal(await place.readLog(), "ran\n");
});

test(
  "a request that waits in line is not late: its time counts from the answer before it",
  { skip },
  async () => {
    using place = await createPlaces(await builtLauncher());
    const pid = await place.launcher.pid();
    const zygote = place.zygotes[0]!;
    process.kill(pid, "SIGSTOP");
    const [long, short] = [60_000, 1000];
    const answers = [long, short, short].map((ms) => zygote.request(new Uint8Array(4), ms));
    // Timers of the same length fire in their order: one of the line would have fired by then.
    await new Promise((resolve) => setTimeout(resolve, short));
    process.kill(pid, "SIGCONT");
    assert.deepEqual(await Promise.all(answers), [0, 0, 0]);
  },
);

test(
  "a launcher that always fails refuses the start and says why; the next start tries again",
  { skip },
  async () => {
    const [crashing, built] = [await crashingLauncher(1), await builtLauncher()];
    using place = await createPlaces(crashing, crashing, crashing, built);
    await assert.rejects(place.start(), {
      name: "StartError",
      reason: "LaunchFailed",
      message: /launcher-crash-1 fails: the zygote has ended: SIGKILL$/,
    });
    const mark = await place.start();
    assert.equal((await waitFor("its end", () => readMarks(mark).exit)).code, 0);
    assert.equal(await place.readLog(), "ran\n");
  },
);

test("a launcher outlives its zygote, holds nothing of the agent, and shows its run in its argument list", {
  skip,
}, async () => {
  using place = await createPlaces(await builtLauncher());
  const gate = join(place.folder, "gate");
  const mark = await place.start(["sh", "-c", `until [ -e ${gate} ]; do sleep 0.01; done`]);
  const { launcher } = await waitFor("its start", () => readMarks(mark).started && readMarks(mark));
  const words = (await readFile(`/proc/${launcher!.pid}/cmdline`, "utf8")).split("\0");
  assert.deepEqual(words.slice(0, 2), ["nckubelet-launcher", mark]);
  assert.equal(await readFile(`/proc/${launcher!.pid}/environ`, "utf8"), "");
  const zygote = await place.launcher.pid();
  place.launcher.close();
  await waitFor("the zygote ends with its agent", () => readStat(zygote) === undefined);
  assert.equal(isAlive(launcher!), true);
  await writeFile(gate, "");
  assert.equal((await waitFor("its end", () => readMarks(mark).exit)).code, 0);
});

test("without /dev/null nothing is started: the script would have the pipes of the zygote", {
  skip: skip || process.getuid?.() !== 0 && "needs root to hide it",
}, async () => {
  using temp = tempFolder();
  const path = join(temp.path, "launcher");
  const hide = `mount -t tmpfs none /dev && exec ${await builtLauncher()} "$@"`;
  await writeFile(path, `#!/bin/sh\nexec unshare --mount sh -c '${hide}' sh "$@"\n`, { mode: 0o755 });
  using place = await createPlaces(path);
  const mark = await place.start();
  const { failure } = await waitFor("its end", () => {
    const marks = readMarks(mark);
    return marks.failure || marks.exit ? marks : undefined;
  });
  assert.equal(failure, "cannot open /dev/null: No such file or directory");
  assert.equal(await place.readLog(), "");
});

test("a command that is too long, or has a NUL byte, is an error before anything is started", {
  skip,
}, async () => {
  using place = await createPlaces(await builtLauncher());
  await assert.rejects(place.start(["echo", "x".repeat(2 ** 21)]), StartError);
  await assert.rejects(place.start(["echo", "a\0b"]), /contains a NUL byte/);
  const mark = await place.start(["echo", "x".repeat(2 ** 16)]);
  assert.equal((await waitFor("its end", () => readMarks(mark).exit)).code, 0);
});

test("a request with more fields than the launcher's table holds is refused", { skip }, async () => {
  const path = await sanitizedLauncher();
  const answers = [65_535, 65_536].map((count) => {
    const fields = ["/mark", "", "", "/log", "/environment", "/", "", "true"];
    const body = Buffer.from(`${fields.join("\0")}\0${"\0".repeat(count - fields.length)}`);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(body.length + 4, 0);
    head.writeUInt32LE(count, 4);
    const input = Buffer.concat([head, body]);
    const { stdout, stderr } = spawnSync(path, ["check", "requests"], { input });
    assert.equal(stderr.toString(), "");
    return stdout.readInt32LE(0);
  });
  assert.deepEqual(answers, [65_535, -22]);
});

test(
  "the helper is installed once, private, under its digest; one that was changed is replaced",
  { skip },
  async () => {
    using temp = tempFolder();
    const stateDir = join(temp.path, "state");
    const content = readFileSync(await builtLauncher());
    const options = { readOwn: () => content, programFolder: join(temp.path, "bin") };
    assert.match((await findHelper(stateDir, options) as { why: string }).why, /ENOENT$/);
    const { path = "" } = await installHelper(stateDir, options);
    assert.match(path, /\/state\/launcher-[0-9a-f]{12}$/);
    const info = await stat(path);
    assert.equal(info.mode & 0o777, 0o700);
    await installHelper(stateDir, options);
    assert.equal((await stat(path)).ino, info.ino);
    const harms = [
      () => chmod(path, 0o722),
      () => writeFile(path, Buffer.from(content).fill(0, 100, 200)),
      () => rm(path).then(() => symlink("/bin/true", path)),
    ];
    for (const harm of harms) {
      await harm();
      assert.match((await findHelper(stateDir, options) as { why: string }).why, /installed|ELOOP/);
      assert.deepEqual(await installHelper(stateDir, options), { path });
      assert.deepEqual(await findHelper(stateDir, options), { path });
    }
  },
);

test("without a launcher, or with one that cannot be executed, no app starts, and the state says why", async () => {
  using temp = tempFolder();
  const stateDir = join(temp.path, "state");
  const open = (readOwn: () => Uint8Array | undefined) =>
    openLauncher({
      stateDir,
      log: silentLogger,
      install: (folder) => installHelper(folder, { readOwn, programFolder: join(temp.path, "bin") }),
    });
  const none = await open(() => undefined);
  assert.equal(none.state.kind, "none");
  assert.match(none.state.message, /built without a launcher .* --only launcher', which takes a C compiler$/);
  const context = { leaf: "", user: "", workingDir: "/", environment: "/dev/null" };
  const request = { mark: "/none", keeper: "", log: "/none", context, command: ["true"] };
  await assert.rejects(none.start(request), {
    name: "StartError",
    message: /^no app can start: this program/,
  });
  for (const content of ["not a program", "#!/bin/false\n"]) {
    const { kind, message } = (await open(() => new TextEncoder().encode(content))).state;
    assert.equal(kind, "none", content);
    assert.match(
      message,
      /^cannot execute .*\/state\/launcher-\w+: .*; cannot execute .*\/bin\/nckubelet-launcher-\w+: /,
    );
  }
});

test("a launcher that was removed is installed again for the next zygote, and can be entered meanwhile", {
  skip,
}, async () => {
  using temp = tempFolder();
  const launcher = await openTestLauncher(join(temp.path, "state")) as ZygoteLauncher;
  using _close = { [Symbol.dispose]: () => launcher.close() };
  const { message: path } = launcher.state;
  const context = { leaf: "", user: "", workingDir: "/", environment: "/dev/null" };
  const enter = () => {
    const [file = "", ...args] = launcher.enterCommand(context, ["echo", "inside"]);
    return [file, spawnSync(file, args).stdout.toString()];
  };
  const pid = await launcher.pid();
  assert.deepEqual(enter(), [path, "inside\n"]);
  await rm(path);
  assert.deepEqual(enter(), [`/proc/${pid}/exe`, "inside\n"]);
  process.kill(pid, "SIGKILL");
  await waitFor("another zygote", async () => await launcher.pid() !== pid);
  assert.deepEqual(enter(), [path, "inside\n"]);
});
