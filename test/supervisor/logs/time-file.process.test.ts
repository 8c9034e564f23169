import assert from "node:assert/strict";
import { appendFileSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { open, truncate, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { punchHead } from "../../../src/supervisor/logs/collapse.ts";
import { checkLogs, noteRun } from "../../../src/supervisor/logs/logs.ts";
import { listParts } from "../../../src/supervisor/logs/log-parts.ts";
import { maxSamples, parseSamples } from "../../../src/supervisor/log-times.ts";
import { followLog, hasPreviousRun } from "../../../src/supervisor/logs/read-log.ts";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { readSamples } from "../../../src/supervisor/logs/time-file.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { createRandom } from "../../random.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith, recordWith } from "../fixtures.ts";
import { createClockedLog, morning, stampedLines } from "./log-clock.ts";
import { createNumberCheck, writeNumbers } from "./numbered-log.ts";

const second = 1000;
const lineOf = (number: number) => `${number} ${"z".repeat(number % 180)}\n`;

/** Writes lines for some hours, with rotations, and agents that are stopped and killed. */
async function busyLog(seed: number) {
  const random = createRandom(seed);
  const log = createClockedLog();
  const written: { time: number; line: string }[] = [];
  for (let round = 0; round < 1000; round++) {
    log.clock += random.oneIn(10) ? random.below(600) * second : 0;
    for (let i = random.below(8); i > 0; i--) {
      log.clock += random.below(second);
      const line = lineOf(written.length + 1);
      await log.write(line);
      written.push({ time: log.clock, line });
    }
    // Less than 10 s after the first of these lines.
    await log.check();
    if (random.oneIn(50)) await log.endAgent(random.pick(["stopped", "killed"]));
  }
  return { log, written };
}

test("the first run of a new log starts at its first byte, which is known without a look at it", async () => {
  using log = createClockedLog();
  await noteRun(log.path, "r1-0000000000", { now: log.now, isNew: true });
  await log.write("first\n");
  log.clock += second;
  await log.startRun();
  const samples = parseSamples(readFileSync(join(log.folder, "app.times"), "latin1"));
  assert.deepEqual(samples[0], { time: morning, offset: 0, run: "r1-0000000000" });
  assert.equal(samples.at(-1)?.offset, 6);
});

test("the start of the first run is known at once, and written by the next check, even of a log without a line", async () => {
  using log = createClockedLog();
  const first = { time: morning, offset: 0, run: "r1-0000000000" };
  await log.write("");
  await noteRun(log.path, first.run, { now: log.now, isNew: true });
  assert.deepEqual(await readSamples(log.path), [first]);
  await log.check();
  assert.deepEqual(parseSamples(readFileSync(join(log.folder, "app.times"), "latin1")), [first]);
  assert.deepEqual(await readSamples(log.path), [first]);
});

test("with timestamps, every line has its time, across rotations and agents", async () => {
  const { log, written } = await busyLog(1);
  using _log = log;
  assert.equal((await listParts(log.path)).length, 3);
  const stamped = stampedLines(await log.read({ timestamps: true }));
  const left = written.slice(-stamped.length);
  assert.ok(left.length > 1000 && left.length < written.length, `${left.length} of ${written.length} lines`);
  for (const [i, { time, line }] of left.entries()) {
    const shown = stamped[i]!;
    assert.equal(shown.line, line);
    assert.ok(shown.time >= time && shown.time <= time + 10 * second, `line ${i}: ${shown.time} for ${time}`);
  }
});

test("since a time, no line is missing and none is more than 10 s too old", async () => {
  const { log, written } = await busyLog(2);
  using _log = log;
  const all = stampedLines(await log.read({ timestamps: true }));
  const left = written.slice(-all.length);
  const random = createRandom(3);
  const times = Array.from({ length: 60 }, () => random.pick(left).time + random.below(3) - 1);
  for (const time of [0, left[0]!.time, ...times, left.at(-1)!.time, left.at(-1)!.time + 20 * second]) {
    const sinceTime = new Date(time);
    const text = await log.read({ sinceTime });
    const first = left.length - text.split("\n").length + 1;
    assert.equal(text, left.slice(first).map(({ line }) => line).join(""), "whole lines up to the end");
    assert.ok((left[first - 1]?.time ?? -1) < time, "the line before is older");
    assert.ok((left[first]?.time ?? time) >= time - 10 * second, "the first line is not too old");
    // What is shown agrees with what was asked for.
    const stamped = await log.read({ sinceTime, timestamps: true });
    assert.equal(stamped, stampsFrom(all, time));
    assert.equal(
      await log.read({ sinceTime, timestamps: true, tailLines: 3 }),
      stampsFrom(all.slice(-3), time),
    );
  }
});

function stampsFrom(lines: { time: number; line: string }[], since: number): string {
  return lines.filter(({ time }) => time >= since)
    .map(({ time, line }) => `${new Date(time).toISOString().slice(0, -1)}000000Z ${line}`).join("");
}

test("previous is the output of the run before, across rotations and agents", async () => {
  using log = createClockedLog();
  assert.equal(await log.read({ previous: true }), "");
  const outputs: string[] = [];
  let number = 0;
  for (const lines of [10, 400, 0, 300, 1, 250, 5]) {
    await log.startRun();
    const text = Array.from({ length: lines }, () => lineOf(++number)).join("");
    // Its last line has no end.
    const output = lines > 0 ? `${text}bye` : "";
    assert.equal(await log.read({ previous: true }), outputs.at(-1) ?? "");
    for (let at = 0; at < output.length; at += 7000) {
      await log.write(output.slice(at, at + 7000));
      log.clock += 10 * second;
      await log.check();
      assert.equal(await log.read({ previous: true, follow: true }), outputs.at(-1) ?? "");
    }
    assert.equal(await hasPreviousRun(log.folder), outputs.length > 0);
    outputs.push(output);
    await log.endAgent(lines % 2 === 0 ? "stopped" : "killed");
  }
  assert.ok((await listParts(log.path)).length > 0);
  const previous = outputs.at(-2)!;
  assert.equal(await log.read({ previous: true, tailLines: 2 }), previous.split("\n").slice(-2).join("\n"));
  assert.equal(await log.read({ previous: true, limitBytes: 20 }), previous.slice(0, 20));
  const stamped = stampedLines(await log.read({ previous: true, timestamps: true }));
  assert.equal(stamped.map(({ line }) => line).join(""), previous);
  const since = stamped[100]!.time;
  assert.equal(
    await log.read({ previous: true, timestamps: true, sinceTime: new Date(since) }),
    stampsFrom(stamped, since),
  );
});

test("of a previous run that was rotated out in part, whole lines remain; of one that is gone, nothing", async () => {
  using log = createClockedLog();
  await log.startRun();
  const first = Array.from({ length: 3000 }, (_, i) => lineOf(i + 1)).join("");
  for (let at = 0; at < first.length; at += 30_000) {
    await log.write(first.slice(at, at + 30_000));
    await log.check();
  }
  await log.startRun();
  await log.write("second\n");
  const left = await log.read({ previous: true });
  assert.ok(left.length > 65_536 && first.endsWith(left) && first.at(-left.length - 1) === "\n");
  for (let i = 0; i < 9; i++) {
    await log.write(`${"y".repeat(33_000)}\n`);
    await log.check();
  }
  assert.equal(await log.read({ previous: true }), "");
  assert.equal(await hasPreviousRun(log.folder), true);
});

test("limitBytes ends a read within a line, times included", async () => {
  using log = createClockedLog();
  await log.write("one\ntwo\nthree\n");
  await log.check();
  assert.equal(await log.read({ limitBytes: 6 }), "one\ntw");
  assert.equal(await log.read({ limitBytes: 0 }), "");
  assert.equal(await log.read({ limitBytes: 6, tailLines: 1 }), "three\n");
  assert.equal(await log.read({ limitBytes: 36, timestamps: true }), "2020-01-01T08:00:00.000000000Z one\n2");
  const never = new AbortController().signal;
  assert.equal(await log.read({ limitBytes: 8, follow: true, signal: never }), "one\ntwo\n");
});

test("lines written while no agent ran have times between its last check and the last write", async () => {
  using log = createClockedLog();
  // Not checked any more: an agent that is stopped looks once again.
  await log.write("before\n");
  await log.endAgent("stopped");
  const lastWrite = new Date(morning + 3600 * second);
  await log.write("meanwhile\n");
  await utimes(log.path, lastWrite, lastWrite);
  log.clock = morning + 7200 * second;
  const expected = [
    { time: morning, line: "before\n" },
    { time: lastWrite.getTime(), line: "meanwhile\n" },
  ];
  assert.deepEqual(stampedLines(await log.read({ timestamps: true })), expected);
  await log.check();
  assert.deepEqual(stampedLines(await log.read({ timestamps: true })), expected);
  assert.equal(await log.read({ sinceTime: new Date(morning + 1) }), "meanwhile\n");
  assert.equal(await log.read({ sinceTime: new Date(lastWrite.getTime() + 1) }), "");
});

test("a log from before there were samples has the times of its files", async () => {
  using log = createClockedLog();
  await log.write(Array.from({ length: 1000 }, (_, i) => lineOf(i + 1)).join(""));
  await rotateIfNeeded(log.path, { maxBytes: 65_536, maxFiles: 4 });
  const [hour, noon] = [new Date(morning + 3600 * second), new Date(morning + 14_400 * second)];
  await utimes(`${log.path}.1`, hour, hour);
  await utimes(log.path, noon, noon);
  log.clock = morning + 86_400 * second;
  const times = new Set(stampedLines(await log.read({ timestamps: true })).map(({ time }) => time));
  assert.deepEqual([...times], [hour.getTime(), noon.getTime()]);
});

test("the agent notes the time of a last write, not that of its check", async () => {
  using log = createClockedLog();
  await log.check();
  await log.write("quick\n");
  const written = new Date(morning + 3 * second);
  await utimes(log.path, written, written);
  log.clock = morning + 9 * second;
  await log.check();
  assert.equal(await log.read({ timestamps: true }), "2020-01-01T08:00:03.000000000Z quick\n");
});

test("a log that does not grow costs no write, and a killed agent's half line no later sample", async () => {
  using log = createClockedLog();
  const file = join(log.folder, "app.times");
  await log.write("one\n");
  await log.check();
  const text = readFileSync(file, "utf8");
  const { mtimeMs, ino } = statSync(file);
  for (let i = 0; i < 5; i++) await log.check();
  assert.deepEqual([statSync(file).mtimeMs, statSync(file).ino], [mtimeMs, ino]);
  assert.equal(parseSamples(text).length, 1);
  await log.endAgent("killed");
  appendFileSync(file, "15778656");
  log.clock += 10 * second;
  await log.startRun();
  assert.deepEqual(parseSamples(readFileSync(file, "utf8")).map(({ offset, run }) => [offset, run]), [
    [4, undefined],
    [4, "r1-0000000000"],
  ]);
});

test("the samples of a log are bounded, and those of rotated bytes go", async () => {
  using log = createClockedLog();
  const file = join(log.folder, "app.times");
  await log.write("x\n".repeat(10_000));
  const lines = Array.from({ length: maxSamples + 512 }, (_, i) => `${morning + 10_000 * i} ${i + 1}\n`);
  writeFileSync(file, lines.join(""));
  log.clock = morning + 86_400 * second;
  await log.check();
  const { length } = parseSamples(readFileSync(file, "utf8"));
  assert.ok(length > maxSamples / 2 && length <= maxSamples, `${length} samples`);
  assert.ok(statSync(file).size < 150_000);
  using rotated = createClockedLog();
  for (let i = 0; i < 100; i++) {
    await rotated.write(`${"x".repeat(9000)}\n`);
    await rotated.check();
  }
  const left = parseSamples(readFileSync(join(rotated.folder, "app.times"), "utf8"));
  assert.ok(left.length < 40, `${left.length} samples`);
  assert.ok(left[0]!.offset > 500_000);
});

test("an app that empties its log gets times for what it writes then", async () => {
  using log = createClockedLog();
  await log.startRun();
  for (let i = 0; i < 2; i++) {
    await log.write("old\n".repeat(40));
    await log.check();
  }
  await truncate(log.path);
  log.clock += 3600 * second;
  await log.write("new\n".repeat(50));
  await log.check();
  const stamped = stampedLines(await log.read({ timestamps: true }));
  assert.deepEqual(new Set(stamped.map(({ time }) => time)), new Set([log.clock]));
  assert.equal((await log.read({ sinceTime: new Date(morning + 1) })).length, 200);
  await log.startRun();
  assert.equal((await log.read({ previous: true })).length, 200);
});

test("a clock that was set back does not hide lines", async () => {
  using log = createClockedLog();
  for (const [time, line] of [[0, "a"], [7200, "ahead"], [10, "b"], [20, "c"], [30, "d"]] as const) {
    log.clock = morning + time * second;
    await log.write(`${line}\n`);
    await log.check();
  }
  assert.deepEqual(
    stampedLines(await log.read({ timestamps: true })).map(({ time }) => (time - morning) / second),
    [
      0,
      10,
      10,
      20,
      30,
    ],
  );
  assert.equal(await log.read({ sinceTime: new Date(morning + 15 * second) }), "c\nd\n");
});

test("lines keep their times when the guard frees the head of a log", async () => {
  using log = createClockedLog();
  const line = (i: number) => `${String(i).padStart(9, "0")}\n`;
  for (let i = 0; i < 10; i++) {
    await log.write(Array.from({ length: 1000 }, (_, n) => line(1000 * i + n)).join(""));
    log.clock += 10 * second;
    if (i < 5) await log.check();
    if (i === 5) await log.endAgent("killed");
  }
  {
    await using file = await open(log.path, "r+");
    await punchHead(file, 4096 * 5);
  }
  log.clock += 3600 * second;
  await log.check();
  await log.startRun();
  const stamped = stampedLines(await log.read({ timestamps: true }));
  assert.ok(stamped.map((entry) => entry.line).join("") === numbersFrom(4096 * 5 / 10));
  for (const { time, line } of stamped) {
    const number = Number(line);
    const expected = number < 5000 ? morning + 10 * second * (Math.floor(number / 1000) + 1) : log.clock;
    assert.equal(time, expected, `line ${number}`);
  }
  assert.ok(await log.read({ sinceTime: new Date(morning + 31 * second) }) === numbersFrom(3000));
  function numbersFrom(number: number): string {
    return Array.from({ length: 10_000 - number }, (_, i) => line(number + i)).join("");
  }
});

test("a symbolic link in the place of the samples is not followed, and the log is rotated as before", async () => {
  using temp = tempFolder();
  using log = createClockedLog();
  const victim = join(temp.path, "victim");
  writeFileSync(victim, "precious");
  symlinkSync(victim, join(log.folder, "app.times"));
  await log.write(`${"x".repeat(99_999)}\n`);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const apps = [{ key: "default/web", record: recordWith({ app: appWith({}, { name: "web" }) }) }];
  const layout = { stateDir: "", logDir: join(log.folder, "..") };
  for (let i = 0; i < 3; i++) {
    await checkLogs(apps, { layout, log: logger, logs: { maxBytes: 65_536, maxFiles: 4 }, now: log.now });
  }
  assert.equal(readFileSync(victim, "utf8"), "precious");
  assert.equal((await listParts(log.path)).length, 1);
  assert.deepEqual(warnings, ["cannot note when lines of a log were written"]);
});

test("followers with timestamps of a log written at full speed under rotation see every line once", async () => {
  using log = createClockedLog({ maxBytes: 2 ** 20, maxFiles: 1000 });
  await log.write("");
  const count = 100_000;
  const stop = new AbortController();
  const follow = async () => {
    const numbers = createNumberCheck();
    let [rest, last, lines] = ["", 0, 0];
    const pieces = followLog(log.folder, { signal: stop.signal, timestamps: true });
    for await (const piece of pieces) {
      const text = rest + new TextDecoder("latin1").decode(piece);
      const whole = text.slice(0, text.lastIndexOf("\n") + 1);
      rest = text.slice(whole.length);
      for (const { time, line } of whole === "" ? [] : stampedLines(whole)) {
        assert.ok(time >= last && time <= Date.now(), `line ${lines}: ${time} after ${last}`);
        last = time;
        lines = numbers.add(new TextEncoder().encode(line));
      }
      if (lines >= count) break;
    }
    assert.equal(numbers.count(), count);
  };
  const followers = [follow(), follow()];
  let isWriting = true;
  const writing = writeNumbers(log.path, count).finally(() => isWriting = false);
  while (isWriting) {
    log.clock = Date.now();
    await log.check();
  }
  await writing;
  await Promise.all(followers);
});
