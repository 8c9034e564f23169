import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { appendFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { hasRun, listParts, type LogRun, readLog, readTail } from "../../../src/supervisor/logs/logs.ts";
import { tempFolder } from "../../temp-folder.ts";
import { createLog, firstPart } from "./log-files.ts";

const waiting = { pollMs: 1 };

const root = tempFolder({ after }).path;

async function newLog(content?: string) {
  const log = createLog(await mkdtemp(join(root, "case-")));
  if (content !== undefined) await log.write(content);
  return log;
}

/** A log with parts of about 8 KiB, the last `count` of them. */
async function logInParts(content: string, count = 100) {
  const log = await newLog();
  for (let at = 0; at < content.length; at += 8192) {
    if (at > 0) await log.rotate();
    await log.write(content.slice(at, at + 8192));
  }
  await log.trim(count);
  return log;
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `${from + i} ${"z".repeat((from + i) % 60)}\n`).join("");

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

/** Follows until the text ends with `end`. */
async function followUntil(
  folder: string,
  end: string,
  options: { tailLines?: number } = {},
  step?: (text: string) => void,
) {
  const stop = new AbortController();
  let text = "";
  for await (const piece of readLog(folder, { follow: true, ...options, signal: stop.signal, waiting })) {
    text += Buffer.from(piece).toString();
    step?.(text);
    if (text.endsWith(end)) stop.abort();
  }
  return text;
}

test("readLog() reads the parts and the log as one", async () => {
  const { folder } = await logInParts(lines(1, 900));
  assert.equal(await readAll(readLog(folder)), lines(1, 900));
});

test("readLog() with tailLines starts at a line, whichever file it is in", async () => {
  const { folder } = await logInParts(lines(1, 3000));
  for (const tailLines of [0, 1, 2, 50, 500, 2900, 2999, 3000, 5000]) {
    const expected = tailLines === 0 ? "" : lines(Math.max(1, 3001 - tailLines), 3000);
    assert.equal(await readAll(readLog(folder, { tailLines })), expected, `${tailLines} lines`);
  }
});

test("readLog() of one run reads what it wrote, wherever that is, until its first line is removed with all others", async () => {
  const log = await newLog();
  const at = (seconds: number) => 1_800_000_000_000 + seconds * 1000;
  const run = (from: number, to?: number) => ({
    startedAt: new Date(at(from)),
    ...(to === undefined ? {} : { finishedAt: new Date(at(to)) }),
  });
  await log.rotate();
  await log.write("one\n", at(0) - 20, { isStart: true });
  await log.write("without an end", at(3));
  await log.write("", at(60), { isStart: true });
  await log.write("", at(120) + 900, { isStart: true });
  await log.write("two\n", at(125));
  await log.rotate();
  await log.write("three\n", at(126));
  await log.write("lives\n", at(130), { isStart: true });
  const read = (chosen: LogRun, options = {}) => readAll(readLog(log.folder, { run: chosen, ...options }));
  assert.equal(await read(run(0, 4)), "one\nwithout an end");
  assert.equal(await read(run(60, 61)), "");
  assert.equal(await hasRun(log.folder, run(60, 61)), true);
  assert.equal(await read(run(121, 129)), "two\nthree\n");
  assert.equal(await read(run(121, 129), { tailLines: 1, follow: true }), "three\n");
  assert.equal(await read(run(130)), "lives\n", "to the end");
  assert.equal(await read(run(121, 131)), "two\nthree\nlives\n", "with the run beside it");
  await log.write("first of this second\n", at(140) + 100, { isStart: true });
  await log.write("second of it\n", at(140) + 900, { isStart: true });
  assert.equal(await read({ ...run(140, 140), rank: 0 }), "first of this second\n");
  assert.equal(await read({ ...run(140, 140), rank: 1 }), "second of it\n");
  await log.trim(1);
  assert.equal(await read(run(121, 129)), "three\n");
  assert.deepEqual([await hasRun(log.folder, run(60, 61)), await read(run(0, 4))], [false, ""]);
});

test("readLog() counts unfinished and empty lines", async () => {
  const { folder } = await newLog("a\n\n\nb");
  assert.equal(await readAll(readLog(folder, { tailLines: 1 })), "b");
  assert.equal(await readAll(readLog(folder, { tailLines: 2 })), "\nb");
  assert.equal(await readAll(readLog(folder, { tailLines: 4 })), "a\n\n\nb");
});

test("readLog() omits the rest of a line whose start was removed", async () => {
  const { folder } = await logInParts(lines(1, 3000), 2);
  const text = await readAll(readLog(folder));
  const first = Number.parseInt(text);
  assert.ok(first > 1);
  assert.equal(text, lines(1, 3000).slice(lines(1, first - 1).length));
});

test("readLog() of a missing log is empty", async () => {
  assert.equal(await readAll(readLog(join(root, "none"))), "");
  assert.equal(await readTail(join(root, "none")), "");
});

test("readTail() crosses from the log into its parts", async () => {
  const log = await logInParts(lines(1, 900));
  const { folder } = log;
  assert.equal(await readTail(folder), lines(891, 900).slice(0, -1));
  await log.rotate();
  await log.write(lines(901, 902));
  assert.equal(await readTail(folder, { tailLines: 4 }), lines(899, 902).slice(0, -1));
});

test("readTail() returns at most maxBytes, in whole lines unless there is none", async () => {
  const { folder } = await newLog(`${"a".repeat(50)}\n${"b".repeat(50)}\n`);
  assert.equal(await readTail(folder, { maxBytes: 60 }), "b".repeat(50));
  assert.equal(await readTail(folder, { maxBytes: 20 }), "b".repeat(19));
  assert.equal(await readTail(folder, { maxBytes: 1000 }), `${"a".repeat(50)}\n${"b".repeat(50)}`);
  assert.equal(await readTail((await newLog("")).folder), "");
});

test("readLog() that follows yields the existing lines and then new ones", async () => {
  const log = await newLog("one\ntwo\n");
  let appended = false;
  const text = await followUntil(log.folder, "three\n", { tailLines: 1 }, () => {
    if (!appended) void log.write("three\n");
    appended = true;
  });
  assert.equal(text, "two\nthree\n");
});

test("readLog() that follows ends when its signal aborts while it waits", async () => {
  const stop = new AbortController();
  const next = readLog((await newLog("")).folder, { follow: true, signal: stop.signal }).next();
  stop.abort();
  assert.equal((await next).done, true);
});

test("readLog() that follows yields what was there when its app ended, and nothing after that", async () => {
  const { folder } = await newLog("one\n");
  const [until, { signal }] = [new AbortController(), new AbortController()];
  const log = readLog(folder, { follow: true, signal, until: until.signal, waiting });
  assert.equal(Buffer.from((await log.next()).value!).toString(), "one\n");
  const next = log.next();
  appendFileSync(firstPart(folder), "last\n");
  until.abort();
  assert.equal(Buffer.from((await next).value!).toString(), "last\n");
  appendFileSync(firstPart(folder), "of the next run\n");
  assert.equal(await readAll(log), "");
});

test("readLog() that follows ends when the log is removed or replaced", async () => {
  for (const again of [false, true]) {
    const { folder } = await newLog("bye\n");
    const text = await readAll((async function* () {
      for await (
        const piece of readLog(folder, { follow: true, signal: new AbortController().signal, waiting })
      ) {
        yield piece;
        await rm(folder, { recursive: true });
        if (again) await mkdir(folder);
        if (again) await writeFile(firstPart(folder), "another app\n");
      }
    })());
    assert.equal(text, "bye\n");
  }
});

test("readLog() that follows keeps its position while the log is rotated", async () => {
  const log = await newLog(lines(1, 300));
  const following = readLog(log.folder, { follow: true, signal: new AbortController().signal, waiting });
  let text = Buffer.from((await following.next()).value!).toString();
  for (const [from, to] of [[301, 2000], [2001, 2100]] as const) {
    await log.write(lines(from, to));
    await log.rotate();
  }
  while (!text.endsWith(lines(2100, 2100))) text += Buffer.from((await following.next()).value!).toString();
  await following.return(undefined);
  assert.equal(text, lines(1, 2100));
});

test("a slow follower continues with the oldest remaining line when its next was removed", async () => {
  const log = await newLog(lines(1, 300));
  const following = readLog(log.folder, { follow: true, signal: new AbortController().signal, waiting });
  assert.equal(Buffer.from((await following.next()).value!).toString(), lines(1, 300));
  for (const [from, to] of [[301, 2000], [2001, 3000]] as const) {
    await log.rotate();
    await log.write(lines(from, to));
  }
  await log.trim(1);
  let rest = "";
  while (!rest.endsWith(lines(3000, 3000))) rest += Buffer.from((await following.next()).value!).toString();
  assert.equal(rest, lines(2001, 3000));
  await following.return(undefined);
});

test("a follower goes on where a part in the middle was removed, and from the start of one that was emptied", async () => {
  const log = await newLog("one\n");
  const following = readLog(log.folder, { follow: true, signal: new AbortController().signal, waiting });
  const next = async () => Buffer.from((await following.next()).value!).toString();
  assert.equal(await next(), "one\n");
  for (const line of ["two\n", "three\n"]) {
    await log.rotate();
    await log.write(line);
  }
  const parts = await listParts(log.folder);
  await rm(parts[1]!.path);
  assert.equal(await next(), "three\n");
  await writeFile(parts[2]!.path, "4\n");
  assert.equal(await next(), "4\n");
  await following.return(undefined);
});
