import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import type { Collapse } from "../../../src/supervisor/logs/collapse.ts";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { openLogStream } from "../../../src/supervisor/logs/log-stream.ts";
import { tempFolder } from "../../temp-folder.ts";

const root = tempFolder({ after }).path;

const content = Array.from({ length: 40_000 }, (_, i) => `${i}\n`).join("");
const unsupported: Collapse = () => Promise.resolve("unsupported");

async function newLog(): Promise<string> {
  const path = join(await mkdtemp(join(root, "case-")), "app.log");
  await writeFile(path, content);
  return path;
}

for (const [how, collapse] of [["collapsed", undefined], ["truncated", unsupported]] as const) {
  test(`a position means the same byte before, while and after the log is ${how}`, async () => {
    const path = await newLog();
    await using log = (await openLogStream(path))!;
    let isRotating = true;
    const rotation = rotateIfNeeded(path, { maxBytes: 16_384, maxFiles: 100 }, { collapse }).finally(() =>
      isRotating = false
    );
    for (let last = false; !last;) {
      last = !isRotating;
      for (let position = 0; position < content.length; position += 9973) {
        const piece = await log.read(position, 50);
        assert.equal(piece?.position, position);
        assert.ok(piece.bytes.length > 0);
        assert.equal(
          Buffer.from(piece.bytes).toString(),
          content.slice(position, position + piece.bytes.length),
        );
      }
      const { start, end, files } = (await log.bounds())!;
      assert.deepEqual([start, end, files.at(-1)!.offset], [0, content.length, content.length]);
    }
    assert.equal((await rotation).problem, undefined);
  });
}

test("a read that a cut interfered with is repeated", async () => {
  const path = await newLog();
  await rotateIfNeeded(path, { maxBytes: 2 ** 30, maxFiles: 2 });
  const states = [{ seq: 2, base: 0 }, { seq: 4, base: 1000 }, { seq: 4, base: 1000 }, {
    seq: 4,
    base: 1000,
  }];
  await using log = (await openLogStream(path, { read: () => Promise.resolve(states.shift()) }))!;
  const piece = await log.read(1005, 10);
  assert.equal(Buffer.from(piece!.bytes).toString(), content.slice(5, 15));
});

test("a read waits for the end of a cut, and for a valid state", async () => {
  const path = await newLog();
  await rotateIfNeeded(path, { maxBytes: 2 ** 30, maxFiles: 2 });
  const cutting = { bytes: 1000, from: 0, size: 5000 };
  const states = [{ seq: 2, base: 0, cutting }, undefined, { seq: 3, base: 1000 }, { seq: 3, base: 1000 }];
  await using log = (await openLogStream(path, { read: () => Promise.resolve(states.shift()) }))!;
  assert.equal(Buffer.from((await log.read(1005, 10))!.bytes).toString(), content.slice(5, 15));
});

test("a read waits for an unfinished cut until a timeout, and only once", async () => {
  const path = await newLog();
  await rotateIfNeeded(path, { maxBytes: 2 ** 30, maxFiles: 2 });
  const state = { seq: 2, base: 0, cutting: { bytes: 1000, from: 0, size: 5000 } };
  let reads = 0;
  const read = () => Promise.resolve((reads++, state));
  await using log = (await openLogStream(path, { cutTimeoutMs: 10, read }))!;
  assert.equal((await log.read(0, 10))?.bytes.length, 10);
  const before = reads;
  assert.equal((await log.read(0, 10))?.bytes.length, 10);
  assert.equal(reads - before, 2);
});

test("a read at the end returns no bytes, and one beyond it starts again at the log itself", async () => {
  const path = await newLog();
  await using log = (await openLogStream(path))!;
  const { position, bytes } = (await log.read(content.length, 10))!;
  assert.deepEqual([position, bytes.length], [content.length, 0]);
  assert.equal((await log.read(content.length + 1, 10))?.position, 0);
});

test("if the oldest part was removed, a read continues with the next", async () => {
  const path = await newLog();
  await rotateIfNeeded(path, { maxBytes: 8192, maxFiles: 3 });
  await using log = (await openLogStream(path))!;
  const { start, end } = (await log.bounds())!;
  assert.equal(end, content.length);
  const piece = await log.read(5, 10);
  assert.equal(piece?.position, start);
  assert.equal(Buffer.from(piece.bytes).toString(), content.slice(start, start + 10));
});

test("a log whose folder is removed after opening is gone", { timeout: 30_000 }, async () => {
  const path = await newLog();
  await using log = (await openLogStream(path))!;
  await rm(dirname(path), { recursive: true });
  assert.equal(await log.bounds(), undefined);
  assert.equal(await log.read(0, 10), undefined);
});
