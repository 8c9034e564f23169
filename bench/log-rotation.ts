/**
 * 200 MB of numbered lines written at full speed under rotation at 1 MiB, with followers: every number must be there once,
 * in the parts joined and for each follower. Prints what it cost.
 *
 *   node bench/log-rotation.ts [megabytes] [followers]
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { followLog, readLog } from "../src/supervisor/log-reader.ts";
import { listParts } from "../src/supervisor/log-parts.ts";
import { rotateIfNeeded } from "../src/supervisor/log-rotation.ts";
import { createNumberCheck, writeNumbers } from "../test/supervisor/numbered-log.ts";

const [megabytes = "200", followers = "3"] = process.argv.slice(2);
const count = Number(megabytes) * 10_000;
const folder = await mkdtemp(join(tmpdir(), "bench-log-rotation-"));
const path = join(folder, "app.log");

try {
  await writeNumbers(path, 1);
  const started = performance.now();
  const cpu = process.cpuUsage();
  let isWriting = true;
  const writing = writeNumbers(path, count - 1, 2).finally(() => isWriting = false);
  const following = Array.from(
    { length: Number(followers) },
    () => check(followLog(folder, { signal: never() })),
  );
  let rotations = 0;
  let writtenMs = 0;
  for (let rotated = true; isWriting || rotated;) {
    const result = await rotateIfNeeded(path, { maxBytes: 2 ** 20, maxFiles: 10_000 });
    assert.deepEqual({ ...result, rotated: true }, { rotated: true, lossless: true, droppedBytes: 0 });
    ({ rotated } = result);
    if (rotated) rotations++;
    if (isWriting) writtenMs = performance.now() - started;
  }
  await writing;
  await Promise.all(following);
  const { user, system } = process.cpuUsage(cpu);
  await check(readLog(folder));

  const parts = (await listParts(path)).length;
  const doneMs = performance.now() - started;
  console.log(
    `${megabytes} MB written in ${seconds(writtenMs)} s, all rotated and read after ${seconds(doneMs)} s`,
  );
  console.log(
    `every line once in ${parts} parts (${rotations} calls) and for each of ${followers} followers`,
  );
  console.log(`${seconds((user + system) / 1000)} s of CPU for rotating and following`);
} finally {
  await rm(folder, { recursive: true });
}

async function check(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const numbers = createNumberCheck();
  for await (const piece of pieces) if (numbers.add(piece) >= count) break;
  assert.equal(numbers.count(), count);
}

function never(): AbortSignal {
  return new AbortController().signal;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
