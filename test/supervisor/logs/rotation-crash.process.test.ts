/** Rotation on a real machine: a killed agent, a full disk. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { tempFolder } from "../../temp-folder.ts";
import { canCollapse } from "./can-collapse.ts";
import { assertNumbers, readJoined, writeNumbers } from "./numbered-log.ts";

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// The same runtime again, whichever it is.
const runtime = "deno" in process.versions ? ["run", "-A", "--no-check"] : [];

const root = tempFolder({ after }).path;

test("agents that are killed during rotations neither lose nor duplicate a line", async (t) => {
  if (!canCollapse(root)) return t.skip("this file system cannot collapse");
  const folder = join(root, "killed");
  await mkdir(folder);
  const path = join(folder, "app.log");
  const limit = 32_768;
  const lines = 1000;
  let count = 0;
  for (let kills = 0; kills < 10; kills++) {
    await writeNumbers(path, lines, count + 1);
    const agent = spawn(process.execPath, [...runtime, script("rotate-forever.ts"), path, String(limit)]);
    const ended = once(agent, "exit");
    // At a different step each time: one cut causes a dozen changes in the folder.
    const steps = countChanges(folder, 10 + 8 * kills, () => agent.kill("SIGKILL"));
    await writeNumbers(path, lines, count + lines + 1);
    // In case it finishes with fewer changes.
    agent.stdout.once("data", () => agent.kill("SIGKILL"));
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    steps.close();
    count += 2 * lines;
  }
  const { problem } = await rotateIfNeeded(path, { maxBytes: limit, maxFiles: 10_000 });
  assert.equal(problem, undefined);
  assertNumbers(await readJoined(path), count);
});

test("on a full disk a rotation frees space and the app can continue", async (t) => {
  const [image, folder] = [join(root, "image"), join(root, "small")];
  const setUp = `truncate -s 16M '${image}' && mkfs.ext4 -q -F -m 0 '${image}' && mkdir '${folder}' &&
    mount -o loop '${image}' '${folder}' || exit 77`;
  const child = [process.execPath, ...runtime, script("rotate-when-full.ts"), folder];
  const run = promisify(execFile)("unshare", ["-m", "/bin/sh", "-c", `${setUp}; exec "$@"`, "sh", ...child]);
  const { stdout } = await run.catch((error) =>
    error.code === 77 || error.code === "ENOENT" || /^unshare: /.test(error.stderr)
      ? { stdout: "" }
      : Promise.reject(error)
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
  let remaining = count;
  return watch(folder, () => void (--remaining === 0 && then()));
}
