/**
 * 200 MB of numbered lines written at full speed under rotation at 1 MiB, with followers: every number must be there once, in the parts
 * joined and for each follower, or there is no figure. The limit is the same lines written without rotation and followers.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { listParts } from "../../src/supervisor/logs/log-parts.ts";
import { followLog, readLog } from "../../src/supervisor/logs/read-log.ts";
import { rotateIfNeeded } from "../../src/supervisor/logs/rotation.ts";
import { createNumberCheck, writeNumbers } from "../../test/supervisor/logs/numbered-log.ts";
import { tempFolder } from "../../test/temp-folder.ts";
import type { Benchmark, Figure } from "../benchmark.ts";

const megabytes = 200;
/** Lines of 100 bytes. */
const count = megabytes * 10_000;
const followers = 3;

export const logRotation: Benchmark = {
  name: "log-rotation",
  about:
    `${megabytes} MB of numbered lines at full speed under rotation at 1 MiB, with ${followers} followers: no line is lost or doubled.`,
  needs: [],
  run: measure,
};

async function measure(): Promise<Figure[]> {
  using temp = tempFolder();
  const folder = temp.path;
  const plain = performance.now();
  await writeNumbers(join(folder, "plain"), count);
  const plainSeconds = (performance.now() - plain) / 1000;
  await rm(join(folder, "plain"));
  return describe(await rotateAll(join(folder, "app.log"), folder), plainSeconds);
}

interface Rotated {
  writtenSeconds: number;
  cpuSeconds: number;
  parts: number;
}

async function rotateAll(path: string, folder: string): Promise<Rotated> {
  await writeNumbers(path, 1);
  const started = performance.now();
  const cpu = process.cpuUsage();
  let isWriting = true;
  let writtenSeconds = 0;
  const writing = writeNumbers(path, count - 1, 2).finally(() => {
    isWriting = false;
    writtenSeconds = (performance.now() - started) / 1000;
  });
  const signal = new AbortController().signal;
  const following = Array.from({ length: followers }, () => check(followLog(folder, { signal })));
  for (let rotated = true; isWriting || rotated;) {
    const result = await rotateIfNeeded(path, { maxBytes: 2 ** 20, maxFiles: 10_000 });
    assert.deepEqual({ ...result, rotated: true }, { rotated: true, lossless: true, droppedBytes: 0 });
    ({ rotated } = result);
  }
  await writing;
  await Promise.all(following);
  const { user, system } = process.cpuUsage(cpu);
  await check(readLog(folder));
  return { writtenSeconds, cpuSeconds: (user + system) / 1e6, parts: (await listParts(path)).length };
}

function describe({ writtenSeconds, cpuSeconds, parts }: Rotated, plainSeconds: number): Figure[] {
  return [
    {
      figure: `${megabytes} MB of log under rotation`,
      ours: megabytes / writtenSeconds,
      unit: "MB/s",
      better: "higher",
      limit: { what: "the writer alone", value: megabytes / plainSeconds },
      note: `every line once in ${parts} parts and for each of ${followers} followers`,
    },
    {
      figure: "CPU to rotate, follow and check 100 MB of log",
      ours: cpuSeconds / megabytes * 100,
      unit: "s",
      note: `the ${followers} followers and the check of every line are in it`,
    },
  ];
}

async function check(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const numbers = createNumberCheck();
  for await (const piece of pieces) if (numbers.add(piece) >= count) break;
  assert.equal(numbers.count(), count);
}
