/** The log as real launchers write it: rotated, stamped and bounded with no agent at all. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { decodeSamples } from "../../../src/supervisor/logs/log-index.ts";
import { listParts, readLog } from "../../../src/supervisor/logs/logs.ts";
import { readMarks } from "../../../src/supervisor/run/run.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { builtLauncher, crashingLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { waitFor } from "../../wait-for.ts";
import { createPlace } from "../launcher/place.ts";
import {
  assertNumbers,
  createNumberCheck,
  listLog,
  numberLines,
  readJoined,
  setLimits,
} from "./log-files.ts";

const skip = skipUnless("compilers");

async function createLogPlace(path: string) {
  const place = await createPlace(path);
  const { log } = place;
  await mkdir(log);
  return {
    ...place,
    start: (script: string) => place.start(["sh", "-c", script]),
    /** Copies for a launcher that was killed, by the launcher at this path. */
    async copy(mark: string, path: string): Promise<void> {
      const { launcher: killed, started } = readMarks(mark);
      const source = `/proc/${started!.main.pid}/fd/1`;
      const [code] = await once(
        spawn(path, ["copy", mark, log, killed!.pipe!, source], { stdio: "ignore" }),
        "exit",
      );
      assert.equal(code, 0);
    },
  };
}

test(
  "400,000 lines at full speed are rotated without losing one; followers see each once",
  { skip },
  async () => {
    using place = await createLogPlace(await builtLauncher());
    await setLimits(place.log, 2 ** 20, 1000);
    const count = 400_000;
    const gate = join(place.folder, "gate");
    const mark = await place.start(`until [ -e '${gate}' ]; do sleep 0.01; done; ${numberLines(count)}`);
    await waitFor("its log", async () => (await listParts(place.log)).length > 0);
    const follow = async () => {
      const numbers = createNumberCheck();
      const pieces = readLog(place.log, { follow: true, signal: new AbortController().signal });
      for await (const piece of pieces) if (numbers.add(piece) >= count) break;
      assert.equal(numbers.count(), count);
    };
    const followers = [follow(), follow()];
    await writeFile(gate, "");
    await place.ended(mark);
    await Promise.all(followers);
    const parts = await listLog(place.log);
    assert.ok(parts.length >= 39, `${parts.length} parts`);
    assertNumbers(await readJoined(place.log), count);
    assert.equal(await readlink(join(place.log, "app.log")), parts.at(-1)!.name);
  },
);

test(
  "the oldest parts go, and with their indexes the log takes no more than its limits",
  { skip },
  async () => {
    using place = await createLogPlace(await builtLauncher());
    await setLimits(place.log, 65_536, 3);
    await place.ended(await place.start(numberLines(20_000)));
    const parts = await listParts(place.log);
    assert.equal(parts.length, 3);
    for (const { path, indexPath } of parts) {
      const bytes = (await readFile(path)).length + (await readFile(indexPath)).length;
      assert.ok(bytes <= 65_536, `${path} takes ${bytes} bytes`);
    }
    assert.ok((await readFile(join(place.log, "app.log"), "latin1")).startsWith("0000000", 0));
    assert.match(
      await readFile(join(place.log, "app.log"), "latin1"),
      /^0000000(?:19|20)\d{3} [^]*\n000000020000 x+\n$/,
    );
  },
);

test("launchers of one app take turns: no byte is lost, and no part is written to after it has a successor", {
  skip,
}, async () => {
  using place = await createLogPlace(await builtLauncher());
  await setLimits(place.log, 65_536, 1000);
  const [letters, each] = [["a", "b", "c", "d"], 1_000_000];
  const marks = await Promise.all(
    letters.map((letter) => place.start(`head -c ${each} /dev/zero | tr '\\0' ${letter}`)),
  );
  await Promise.all(marks.map((mark) => place.ended(mark)));
  const text = await readJoined(place.log);
  assert.deepEqual(letters.map((letter) => text.split(letter).length - 1), letters.map(() => each));
});

for (const step of [14, 15, 16, 17, 18]) {
  test(
    `a launcher killed at step ${step} of a rotation loses no more than it had in its hands; a copier goes on`,
    { skip },
    async () => {
      using place = await createLogPlace(await crashingLauncher(step));
      await setLimits(place.log, 65_536, 2);
      const gate = join(place.folder, "gate");
      const mark = await place.start(
        `${numberLines(3000)}; until [ -e '${gate}' ]; do sleep 0.01; done; ${numberLines(3000, 3001)}`,
      );
      const { launcher, started } = await waitFor(
        "its start",
        () => readMarks(mark).started && readMarks(mark),
      );
      using _end = {
        [Symbol.dispose]: () => readStat(started!.main.pid) && process.kill(started!.main.pid, "SIGKILL"),
      };
      await waitFor("its launcher is killed", () => !readStat(launcher!.pid));
      await setLimits(place.log, 65_536, 1000);
      const copied = place.copy(mark, await builtLauncher());
      await writeFile(gate, "");
      await copied;
      const parts = await listLog(place.log);
      assert.equal(await readlink(join(place.log, "app.log")), parts.at(-1)!.name);
      // What the launcher had read and not written is gone: at most one read of 16 KiB.
      const text = parts.map((part) => part.text).join("");
      for (const [i, part] of parts.entries()) {
        const next = parts[i + 1];
        if (next) assert.equal(part.start + part.text.length, next.start, `${part.name} and ${next.name}`);
      }
      const numbers = [...text.matchAll(/^(\d{12}) x{86}$/gm)].map(([, number]) => Number(number));
      assert.equal(numbers.at(-1), 6000);
      const jumps = numbers.slice(1).map((number, i) => number - numbers[i]!).filter((jump) => jump !== 1);
      assert.ok(jumps.length <= 1 && (jumps[0] ?? 0) <= 170, `jumps of ${jumps}`);
    },
  );
}

test("a log folder that somebody removes is created again", { skip }, async () => {
  using place = await createLogPlace(await builtLauncher());
  const gate = join(place.folder, "gate");
  const mark = await place.start(`echo before; until [ -e '${gate}' ]; do sleep 0.01; done; echo after`);
  await waitFor("its line", async () => await readJoined(place.log) === "before\n");
  await rm(place.log, { recursive: true });
  await writeFile(gate, "");
  await place.ended(mark);
  assert.equal(await readJoined(place.log), "after\n");
});

test("limits that make no sense are the usual ones", { skip }, async () => {
  for (
    const text of [
      "",
      "0 0\n",
      "65536\n",
      "65536 0\n",
      "65535 5\n",
      "65536 1001\n",
      "-1 5\n",
      "99999999999999999999 5\n",
      "65536 2",
      "x".repeat(200),
    ]
  ) {
    using place = await createLogPlace(await builtLauncher());
    await writeFile(join(place.log, ".limits"), text);
    await place.ended(await place.start(numberLines(3000)));
    assert.equal((await listParts(place.log)).length, 1, JSON.stringify(text));
  }
});

test("the index has a sample for each start, and one a second at most; one that was cut is repaired", {
  skip,
}, async () => {
  using place = await createLogPlace(await builtLauncher());
  await place.ended(await place.start("seq 1000; seq 1000"));
  const { indexPath } = (await listParts(place.log))[0]!;
  await writeFile(indexPath, "torn", { flag: "a" });
  const mark = await place.start("echo again; sleep 1.1; echo later; echo at once");
  await place.ended(mark);
  const samples = decodeSamples(await readFile(indexPath));
  const text = await readJoined(place.log);
  assert.deepEqual(samples.map(({ isStart }) => isStart).slice(0, 1), [true]);
  assert.equal(samples.filter(({ isStart }) => isStart).length, 2);
  const later = samples.at(-1)!;
  assert.equal(text.slice(later.position), "later\nat once\n");
  assert.ok(Math.abs(later.time - readMarks(mark).exit!.at) < 10_000);
  const previous: Uint8Array[] = [];
  for await (const piece of readLog(place.log, { previous: true })) previous.push(piece);
  assert.equal(Buffer.concat(previous).toString(), text.slice(0, text.indexOf("again")));
});

test("what is in place of a part or the folder, as a link, is not written to", { skip }, async () => {
  using place = await createLogPlace(await builtLauncher());
  const target = join(place.folder, "target");
  await writeFile(target, "untouched");
  await rm(place.log, { recursive: true });
  await mkdir(`${place.log}-real`);
  await symlink(`${place.log}-real`, place.log);
  const mark = await place.start("echo ran");
  assert.match(
    await waitFor("its failure", () => readMarks(mark).failure),
    /^cannot open the log .*: Not a directory/,
  );
  await rm(place.log);
  await mkdir(place.log);
  await symlink(target, join(place.log, `app.log.${"0".repeat(16)}`));
  const next = await place.start("echo ran");
  assert.match(
    await waitFor("its failure", () => readMarks(next).failure),
    /^cannot open the log .*: (Symbolic link loop|Too many)/,
  );
  assert.equal(await readFile(target, "utf8"), "untouched");
  assert.equal(existsSync(`${place.log}-real/app.log`), false);
});

test("a part that cannot be removed holds up no app", {
  skip: skip || process.getuid?.() !== 0 && "needs root to forbid it",
}, async (t) => {
  using place = await createLogPlace(await builtLauncher());
  await setLimits(place.log, 65_536, 2);
  await place.ended(await place.start(numberLines(1000)));
  const [oldest] = await listParts(place.log);
  if (spawnSync("chattr", ["+i", oldest!.path]).status !== 0) {
    return t.skip("no file can be made immutable here");
  }
  using _end = { [Symbol.dispose]: () => void spawnSync("chattr", ["-i", oldest!.path]) };
  await place.ended(await place.start(numberLines(2000)));
  assert.match((await listLog(place.log)).at(-1)!.text, /\n000000002000 x+\n$/);
});

test("limits that cannot be read any more stay as they were, and remove no part", { skip }, async () => {
  using place = await createLogPlace(await builtLauncher());
  await setLimits(place.log, 65_536, 1000);
  const [gate, wrote] = [join(place.folder, "gate"), join(place.folder, "wrote")];
  const pause = `: >'${wrote}'; until [ -e '${gate}' ]; do sleep 0.01; done; sleep 1.1`;
  const mark = await place.start(`${numberLines(10_000)}; ${pause}; ${numberLines(1000, 10_001)}`);
  await waitFor("it wrote", () => existsSync(wrote));
  await writeFile(join(place.log, ".limits"), "");
  await writeFile(gate, "");
  await place.ended(mark);
  assertNumbers(await readJoined(place.log), 11_000);
});

test("a user who may list the folder of a log cannot hold up its launchers", {
  skip: skip || process.getuid?.() !== 0 && "needs root to be another user",
}, async () => {
  using place = await createLogPlace(await builtLauncher());
  await chmod(place.folder, 0o755);
  await chmod(place.log, 0o755);
  const locker = spawn("setpriv", [
    "--reuid=65534",
    "--clear-groups",
    "flock",
    place.log,
    "sh",
    "-c",
    "echo held; sleep 60",
  ]);
  using _end = { [Symbol.dispose]: () => locker.kill("SIGKILL") };
  await once(locker.stdout, "data");
  await place.ended(await place.start("echo ran"));
  assert.equal(await readJoined(place.log), "ran\n");
});

test(
  "a log that somebody empties or removes in parts goes on; followers and times find their way",
  { skip },
  async () => {
    for (const harm of [(log: string) => truncate(join(log, "app.log")), removeParts]) {
      using place = await createLogPlace(await builtLauncher());
      const gate = join(place.folder, "gate");
      const mark = await place.start(
        `seq 1000; until [ -e '${gate}' ]; do sleep 0.01; done; sleep 1.1; echo again; echo last`,
      );
      await waitFor("its lines", async () => (await readJoined(place.log)).endsWith("\n1000\n"));
      let text = "";
      const follow = (async () => {
        for await (const piece of readLog(place.log, { follow: true, signal: AbortSignal.timeout(60_000) })) {
          text += Buffer.from(piece).toString();
          if (text.endsWith("last\n")) break;
        }
      })();
      await waitFor("the follower has them", () => text.endsWith("\n1000\n"));
      await harm(place.log);
      const since = new Date();
      await writeFile(gate, "");
      await place.ended(mark);
      await follow;
      assert.match(text, /\n1000\nagain\nlast\n$/);
      let later = "";
      for await (const piece of readLog(place.log, { sinceTime: since })) {
        later += Buffer.from(piece)
          .toString();
      }
      assert.equal(later, "again\nlast\n");
    }
  },
);

async function removeParts(log: string): Promise<void> {
  for (const name of await readdir(log)) if (name.startsWith("app.log.")) await rm(join(log, name));
}

test(
  "lines since a run started begin with its first, though the run before did not end its last",
  { skip },
  async () => {
    using place = await createLogPlace(await builtLauncher());
    await place.ended(await place.start("printf 'cut off'"));
    const mark = await place.start("echo first; echo second");
    await place.ended(mark);
    const samples = decodeSamples(await readFile((await listParts(place.log))[0]!.indexPath));
    let text = "";
    const sinceTime = new Date(samples.filter(({ isStart }) => isStart).at(-1)!.time);
    for await (const piece of readLog(place.log, { sinceTime })) text += Buffer.from(piece).toString();
    assert.equal(text, "first\nsecond\n");
  },
);

test("runs without output do not let the index grow without end", { skip }, async () => {
  using place = await createLogPlace(await builtLauncher());
  await setLimits(place.log, 65_536, 2);
  await place.ended(await place.start("true"));
  const { indexPath } = (await listParts(place.log))[0]!;
  await writeFile(indexPath, new Uint8Array(65_536), { flag: "a" });
  await place.ended(await place.start("true"));
  assert.equal((await readFile(indexPath)).length, 16);
});
