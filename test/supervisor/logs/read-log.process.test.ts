import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { appendFileSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, open, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { type Collapse, fallocateCollapse } from "../../../src/supervisor/logs/collapse.ts";
import { cutHead } from "../../../src/supervisor/logs/cut.ts";
import { listParts } from "../../../src/supervisor/logs/log-parts.ts";
import { followLog, readLog, readTail } from "../../../src/supervisor/logs/read-log.ts";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { openState } from "../../../src/supervisor/logs/rotation-state.ts";
import { tempFolder } from "../../temp-folder.ts";
import { canCollapse } from "./can-collapse.ts";
import { assertNumbers, writeNumbers } from "./numbered-log.ts";

const policy = { maxBytes: 8192, maxFiles: 100 };
const waiting = { pollMs: 1 };
const unsupported: Collapse = () => Promise.resolve("unsupported");

const root = tempFolder({ after }).path;

async function newLog(content = ""): Promise<string> {
  const folder = await mkdtemp(join(root, "case-"));
  await writeFile(join(folder, "app.log"), content);
  return folder;
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
  for await (const piece of followLog(folder, { ...options, signal: stop.signal, waiting })) {
    text += Buffer.from(piece).toString();
    step?.(text);
    if (text.endsWith(end)) stop.abort();
  }
  return text;
}

test("readLog() reads the parts and the log as one", async () => {
  const folder = await newLog(lines(1, 900));
  await rotateIfNeeded(join(folder, "app.log"), policy);
  assert.equal(await readAll(readLog(folder)), lines(1, 900));
});

test("readLog() with tailLines starts at a line, whichever file it is in", async () => {
  const folder = await newLog(lines(1, 3000));
  await rotateIfNeeded(join(folder, "app.log"), policy);
  for (const tailLines of [0, 1, 2, 50, 500, 2900, 2999, 3000, 5000]) {
    const expected = tailLines === 0 ? "" : lines(Math.max(1, 3001 - tailLines), 3000);
    assert.equal(await readAll(readLog(folder, { tailLines })), expected, `${tailLines} lines`);
  }
});

test("readLog() counts unfinished and empty lines", async () => {
  const folder = await newLog("a\n\n\nb");
  assert.equal(await readAll(readLog(folder, { tailLines: 1 })), "b");
  assert.equal(await readAll(readLog(folder, { tailLines: 2 })), "\nb");
  assert.equal(await readAll(readLog(folder, { tailLines: 4 })), "a\n\n\nb");
});

test("readLog() omits the rest of a line whose start was removed", async () => {
  const folder = await newLog(lines(1, 3000));
  await rotateIfNeeded(join(folder, "app.log"), { ...policy, maxFiles: 2 });
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
  const folder = await newLog(lines(1, 900));
  await rotateIfNeeded(join(folder, "app.log"), policy, { collapse: unsupported });
  assert.equal(await readTail(folder), lines(891, 900).slice(0, -1));
  await appendFile(join(folder, "app.log"), lines(901, 902));
  assert.equal(await readTail(folder, { tailLines: 4 }), lines(899, 902).slice(0, -1));
});

test("readTail() returns at most maxBytes, in whole lines unless there is none", async () => {
  const folder = await newLog(`${"a".repeat(50)}\n${"b".repeat(50)}\n`);
  assert.equal(await readTail(folder, { maxBytes: 60 }), "b".repeat(50));
  assert.equal(await readTail(folder, { maxBytes: 20 }), "b".repeat(19));
  assert.equal(await readTail(folder, { maxBytes: 1000 }), `${"a".repeat(50)}\n${"b".repeat(50)}`);
  assert.equal(await readTail(await newLog()), "");
});

test("followLog() yields the existing lines and then new ones", async () => {
  const folder = await newLog("one\ntwo\n");
  let appended = false;
  const text = await followUntil(folder, "three\n", { tailLines: 1 }, () => {
    if (!appended) void appendFile(join(folder, "app.log"), "three\n");
    appended = true;
  });
  assert.equal(text, "two\nthree\n");
});

test("followLog() ends when its signal aborts while it waits", async () => {
  const stop = new AbortController();
  const next = followLog(await newLog(), { signal: stop.signal }).next();
  stop.abort();
  assert.equal((await next).done, true);
});

test("followLog() yields what was there when its app ended, and nothing after that", async () => {
  const folder = await newLog("one\n");
  const [until, { signal }] = [new AbortController(), new AbortController()];
  const log = followLog(folder, { signal, until: until.signal, waiting });
  assert.equal(Buffer.from((await log.next()).value!).toString(), "one\n");
  const next = log.next();
  appendFileSync(join(folder, "app.log"), "last\n");
  until.abort();
  assert.equal(Buffer.from((await next).value!).toString(), "last\n");
  appendFileSync(join(folder, "app.log"), "of the next run\n");
  assert.equal(await readAll(log), "");
});

test("followLog() ends when the log is removed or replaced", async () => {
  for (const again of [false, true]) {
    const folder = await newLog("bye\n");
    const text = await readAll((async function* () {
      for await (const piece of followLog(folder, { signal: new AbortController().signal, waiting })) {
        yield piece;
        await rm(folder, { recursive: true });
        if (again) await mkdir(folder);
        if (again) await writeFile(join(folder, "app.log"), "another app\n");
      }
    })());
    assert.equal(text, "bye\n");
  }
});

test("followLog() starts again when the log is truncated", async () => {
  const folder = await newLog("old old old\n");
  let emptied = false;
  const text = await followUntil(folder, "new\n", {}, () => {
    if (emptied) return;
    emptied = true;
    void truncate(join(folder, "app.log")).then(() => appendFile(join(folder, "app.log"), "new\n"));
  });
  assert.equal(text, "old old old\nnew\n");
});

test("followLog() keeps its position when the log is cut below it", async () => {
  for (const collapse of [undefined, unsupported]) {
    const folder = await newLog(lines(1, 300));
    const path = join(folder, "app.log");
    const log = followLog(folder, { signal: new AbortController().signal, waiting });
    let text = Buffer.from((await log.next()).value!).toString();
    await appendFile(path, lines(301, 2000));
    const { rotated } = await rotateIfNeeded(path, policy, { collapse });
    assert.ok(rotated);
    await appendFile(path, lines(2001, 2100));
    while (!text.endsWith(lines(2100, 2100))) text += Buffer.from((await log.next()).value!).toString();
    await log.return(undefined);
    assert.equal(text, lines(1, 2100));
  }
});

test("a slow follower continues with the oldest remaining line when its next was removed", async () => {
  const folder = await newLog(lines(1, 300));
  const path = join(folder, "app.log");
  const log = followLog(folder, { signal: new AbortController().signal, waiting });
  const first = Buffer.from((await log.next()).value!).toString();
  assert.equal(first, lines(1, 300));
  await appendFile(path, lines(301, 3000));
  await rotateIfNeeded(path, { ...policy, maxFiles: 2 });
  let rest = "";
  while (!rest.endsWith(lines(3000, 3000))) rest += Buffer.from((await log.next()).value!).toString();
  assert.ok(lines(301, 3000).endsWith(rest));
  await log.return(undefined);
});

test("parts older than dropped bytes are not read in their place", async (t) => {
  if (!canCollapse(root)) return t.skip("this file system cannot collapse");
  const folder = await newLog(lines(1, 300));
  const path = join(folder, "app.log");
  const two = { ...policy, maxFiles: 2 };
  await rotateIfNeeded(path, two);
  assert.equal((await listParts(path)).length, 1);
  await appendFile(path, lines(301, 3000));
  await using log = await open(path, "r+");
  await using stateFile = await openState(path);
  const dropped = await cutHead(
    { logPath: path, log, stateFile, collapse: fallocateCollapse, isRemote: false },
    { bytes: 8192, copy: false },
    { count: 1, bytes: 8192 },
  );
  assert.notEqual(dropped, "unsupported");
  // It starts with the first whole line.
  const left = lines(1, 3000).slice(2 * 8192);
  assert.ok(await readAll(readLog(folder)) === left.slice(left.indexOf("\n") + 1));
});

test("followers of a log written at full speed under rotation see every line once", async () => {
  const folder = await newLog();
  const path = join(folder, "app.log");
  const count = 400_000;
  const stop = new AbortController();
  const follow = async () => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of followLog(folder, { signal: stop.signal })) {
      pieces.push(piece);
      if ((bytes += piece.length) >= count * 100) break;
    }
    return Buffer.concat(pieces).toString("latin1");
  };
  const followers = [follow(), follow()];
  let isWriting = true;
  const writing = writeNumbers(path, count).finally(() => isWriting = false);
  while (isWriting) {
    const { problem } = await rotateIfNeeded(path, { maxBytes: 2 ** 20, maxFiles: 1000 });
    assert.equal(problem, undefined);
  }
  await writing;
  for (const text of await Promise.all(followers)) assertNumbers(text, count);
  assertNumbers(await readAll(readLog(dirname(path))), count);
});
