import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";

import {
  cancelRun,
  exitPlaceholder,
  listMarkedRuns,
  prepareMarks,
  readMarks,
  removeMarks,
  watchMarks,
} from "../../../src/supervisor/run/launcher-marks.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

test("a run whose exit was not written yet has none", async () => {
  using temp = tempFolder();
  const mark = join(temp.path, "run-1");
  prepareMarks(mark, dirname(mark));
  assert.deepEqual(readMarks(mark), {
    claim: "none",
    launcher: undefined,
    copier: undefined,
    started: undefined,
    failure: undefined,
    exit: undefined,
  });
});

test("a claim names the launcher, its pipe if it has one, and the last copier", async () => {
  using temp = tempFolder();
  const mark = join(temp.path, "run-1");
  const stat = (pid: number) => `${pid} (launcher) S 1 1 1 ${"0 ".repeat(15)}77 ${"0 ".repeat(30)}\n`;
  const read = async (text: string) => {
    await writeFile(`${mark}.claim`, text);
    const { launcher, copier } = readMarks(mark);
    return [launcher, copier];
  };
  const [launcher, copier] = [{ pid: 10, startTime: "77" }, { pid: 12, startTime: "77" }];
  const pipe = "pipe:[5]";
  assert.deepEqual(await read(stat(10)), [launcher, undefined]);
  assert.deepEqual(await read(`${stat(10)}${pipe}\n`), [{ ...launcher, pipe }, undefined]);
  assert.deepEqual(await read(`${stat(10)}${pipe}\n${stat(11)}${stat(12)}`), [{ ...launcher, pipe }, copier]);
});

test("listMarkedRuns() and removeMarks() know all files of a run", async () => {
  using temp = tempFolder();
  const folder = join(temp.path, "marks");
  await mkdir(folder);
  prepareMarks(join(folder, "run-1"), folder);
  await cancelRun(join(folder, "run-1"));
  assert.deepEqual(await listMarkedRuns(folder), ["run-1"]);
  await removeMarks(join(folder, "run-1"));
  assert.deepEqual(await readdir(folder), []);
});

test("an exit mark has the status, the signal, and whether SIGTERM reached the launcher", async () => {
  using temp = tempFolder();
  const mark = join(temp.path, "run-1");
  const read = async (text: string) => {
    await writeFile(`${mark}.exit`, `${text}${exitPlaceholder.slice(text.length)}`);
    const { code, signal, terminated, alone } = readMarks(mark).exit ?? {};
    return [code, signal, terminated, ...(alone ? ["alone"] : [])];
  };
  assert.deepEqual(await read("exit 7\nsignal 0\n"), [7, 0, undefined]);
  assert.deepEqual(await read("exit 7\nterminated\nsignal 0\n"), [7, 0, true]);
  assert.deepEqual(await read("exit 137\nsignal 9\n"), [137, 9, undefined]);
  assert.deepEqual(await read("exit 137\nsignal 0\n"), [137, 0, undefined]);
  assert.deepEqual(await read("exit 192\nterminated\nsignal 64\n"), [192, 64, true]);
  assert.deepEqual(await read("exit 0\nsignal 0\nalone\n"), [0, 0, undefined, "alone"]);
  assert.deepEqual(await read("exit 0\nsignal 0\nalon"), [0, 0, undefined]);
  assert.deepEqual(await read("exit 1\nsignal 65\n"), [undefined, undefined, undefined]);
  assert.deepEqual(await read("signal 9\n"), [undefined, undefined, undefined]);
});

test("an exit mark says how what the script left behind ended, once that is known", async () => {
  using temp = tempFolder();
  const mark = join(temp.path, "run-1");
  const read = async (text: string) => {
    await writeFile(`${mark}.exit`, `${text}${exitPlaceholder.slice(text.length)}`);
    return readMarks(mark).exit?.last;
  };
  assert.equal(await read("exit 0\nsignal 0\n"), "unknown");
  assert.equal(await read("exit 0\nsignal 0\nalone\n"), undefined, "it left nothing behind");
  assert.equal(await read("exit 0\nsignal 0\nlast 0 0\nalone\n"), undefined);
  assert.deepEqual(await read("exit 0\nsignal 0\nlast 137 9\n"), { code: 137, signal: 9 });
  assert.deepEqual(await read("exit 0\nterminated\nsignal 0\nlast 3 0\n"), { code: 3, signal: 0 });
  assert.equal(await read("exit 0\nsignal 0\nlast 137"), "unknown");
  assert.ok("exit 255\nterminated\nsignal 64\nlast 255 64\nalone\n".length < exitPlaceholder.length);
});

test("a claim and the reserved exit mark lead to no callback; a mark that is written does", async () => {
  using temp = tempFolder();
  using runs = tempFolder();
  const seen: (string | undefined)[] = [];
  const stop = watchMarks(temp.path, (runId) => seen.push(runId), assert.ifError);
  prepareMarks(join(temp.path, "run-1"), runs.path);
  await writeFile(join(temp.path, "run-1.claim"), "1 (launcher)\n");
  await writeFile(join(temp.path, "run-2.started"), "2 (sh)\n");
  await waitFor("the mark is seen", () => seen.length > 0);
  stop();
  assert.deepEqual([...new Set(seen)], ["run-2"]);
});
