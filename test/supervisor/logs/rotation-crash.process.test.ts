/** Rotation against what a real machine does to it: a killed agent, a full disk. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { assertNumbers, readJoined, writeNumbers } from "./numbered-log.ts";

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// The same runtime again, whichever it is.
const runtime = "deno" in process.versions ? ["run", "-A", "--no-check"] : [];

let root = "";
before(async () => root = await mkdtemp(join(tmpdir(), "log-rotation-crash-")));
after(() => rm(root, { recursive: true }));

test("an agent that is killed while it rotates, again and again, loses and doubles no line", async (t) => {
  if (!await canCollapse()) return t.skip("this file system cannot collapse");
  const folder = await mkdtemp(join(root, "killed-"));
  const path = join(folder, "app.log");
  const limit = 32_768;
  const lines = 1000;
  let count = 0;
  for (let kills = 0; kills < 10; kills++) {
    await writeNumbers(path, lines, count + 1);
    const agent = spawn(process.execPath, [...runtime, script("rotate-forever.ts"), path, String(limit)]);
    const ended = once(agent, "exit");
    // At another step each time: one cut changes a dozen things in the folder.
    const steps = countChanges(folder, 10 + 8 * kills, () => agent.kill("SIGKILL"));
    await writeNumbers(path, lines, count + lines + 1);
    // Should it have been done before that many changes.
    agent.stdout.once("data", () => agent.kill("SIGKILL"));
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    steps.close();
    count += 2 * lines;
  }
  const { problem } = await rotateIfNeeded(path, { maxBytes: limit, maxFiles: 10_000 });
  assert.equal(problem, undefined);
  assertNumbers(await readJoined(path), count);
});

test("on a disk that is full the rotation makes room and the app can go on", async (t) => {
  const [image, folder] = [join(root, "image"), join(root, "small")];
  const setUp = `truncate -s 16M '${image}' && mkfs.ext4 -q -F -m 0 '${image}' && mkdir '${folder}' &&
    mount -o loop '${image}' '${folder}' || exit 77`;
  const child = [process.execPath, ...runtime, script("rotate-when-full.ts"), folder];
  const run = promisify(execFile)("unshare", ["-m", "/bin/sh", "-c", `${setUp}; exec "$@"`, "sh", ...child]);
  const { stdout } = await run.catch((error) =>
    error.code === 77 || error.code === "ENOENT" ? { stdout: "" } : Promise.reject(error)
  );
  if (!stdout) return t.skip("no file system can be mounted here");
  const { results, files } = JSON.parse(stdout);
  for (const { rotated, lossless, problem } of results) {
    assert.deepEqual({ rotated, lossless, problem }, { rotated: true, lossless: true, problem: undefined });
  }
  assert.deepEqual(files.filter((name: string) => name.startsWith("app.log.")), [
    "app.log.1",
    "app.log.2",
    "app.log.3",
    "app.log.4",
  ]);
});

function countChanges(folder: string, count: number, then: () => void) {
  let left = count;
  return watch(folder, () => void (--left === 0 && then()));
}

async function canCollapse(): Promise<boolean> {
  const path = join(await mkdtemp(join(root, "probe-")), "app.log");
  await writeFile(path, "x".repeat(100_000));
  return (await rotateIfNeeded(path, { maxBytes: 4096, maxFiles: 1 })).lossless;
}
