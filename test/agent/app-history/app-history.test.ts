import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  constants,
  mkdir,
  open,
  readdir,
  readFile,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { createAppHistory, readEvents } from "../../../src/agent/app-history/app-history.ts";
import { maxFileBytes } from "../../../src/agent/app-history/history-file.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import type { EventQuery, HistoryEntry } from "../../../src/server/view.ts";
import { tempFolder } from "../../temp-folder.ts";

const event = (reason: string, message = ""): Omit<HistoryEntry, "time"> => ({
  type: "Normal",
  reason,
  message,
});

function openHistory(folder: string, now?: () => number) {
  return createAppHistory({ folder, log: silentLogger, now, delayMs: 10 });
}

const isDeno = "deno" in process.versions;
const reasons = (entries: HistoryEntry[]) => entries.map(({ reason }) => reason);

test("what one agent wrote, the next reads, and only the agent's user may", async () => {
  using temp = tempFolder();
  const folder = join(temp.path, "state", "history");
  const first = openHistory(folder);
  first.add("default/web", event("Started"));
  first.add("default/web", event("Exited"));
  await first.close();
  const second = openHistory(folder);
  second.add("default/web", event("Started", "again"));
  assert.deepEqual(reasons(await second.read("default/web")), ["Started", "Exited", "Started"]);
  assert.deepEqual(await second.read("default/other"), []);
  const [folderMode, fileMode] = await Promise.all(
    [folder, join(folder, "default_web.jsonl")].map((path) => stat(path)),
  );
  assert.deepEqual([folderMode!.mode & 0o777, fileMode!.mode & 0o777], [0o700, 0o600]);
  await second.close();
});

test("a file stays below 64 KB whatever happens, with the newest", async () => {
  using temp = tempFolder();
  const path = join(temp.path, "default_web.jsonl");
  let now = Date.now();
  const history = openHistory(temp.path, () => now += 60_000);
  for (let round = 0; round < 40; round++) {
    for (let count = 0; count < 50; count++) {
      history.add("default/web", event("Exited", `${round} ${count} ${"x".repeat(90)}`));
    }
    const entries = await history.read("default/web", { since: 0 });
    assert.match(entries.at(-1)?.message ?? "", new RegExp(`^${round} 49 `));
    assert.ok((await stat(path)).size <= maxFileBytes);
  }
  assert.equal(history.lost, 0);
  assert.deepEqual(await readdir(temp.path), ["default_web.jsonl"]);
  await history.close();
});

test("what cannot be written is counted and harms nobody", async () => {
  using temp = tempFolder();
  await writeFile(join(temp.path, "file"), "");
  const history = openHistory(join(temp.path, "file", "history"));
  history.add("default/web", event("Started"));
  await history.close();
  assert.equal(history.lost, 1);
  history.add("default/web", event("Started"));
  assert.equal(history.lost, 2, "after its end");
});

test(
  "a disk that hangs holds nobody up",
  { skip: isDeno && "Deno opens a pipe on its own thread" },
  async () => {
    using temp = tempFolder();
    const path = join(temp.path, "default_web.jsonl");
    // To open it waits for a reader, as a mount that hangs would.
    await promisify(execFile)("mkfifo", [path]);
    const history = openHistory(temp.path);
    history.add("default/web", event("Started"));
    const closed = history.close();
    history.add("default/web", event("Started"));
    await closed;
    await using _reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  },
);

test("a link in the place of a file is not followed", async () => {
  using temp = tempFolder();
  const [folder, target] = [join(temp.path, "history"), join(temp.path, "target")];
  await mkdir(folder);
  await writeFile(target, "mine");
  await symlink(target, join(folder, "default_web.jsonl"));
  const history = openHistory(folder);
  history.add("default/web", event("Started"));
  await history.close();
  assert.deepEqual([history.lost, await readFile(target, "utf8")], [1, "mine"]);
});

test("more than a few entries at once are not kept in memory for a disk that is slow", async () => {
  using temp = tempFolder();
  await writeFile(join(temp.path, "file"), "");
  const history = openHistory(join(temp.path, "file", "history"));
  for (let count = 0; count < 1000; count++) history.add("default/web", event("Exited", String(count)));
  assert.equal(history.lost, 1000 - 64);
  for (let app = 0; app < 10_000; app++) history.add(`default/app-${app}`, event("Exited"));
  assert.equal(history.lost, 11_000 - 4096);
  await history.close();
});

test("histories of removed apps stay for a week, at most a hundred, and unfinished files go", async () => {
  using temp = tempFolder();
  const now = Date.now();
  const names = Array.from(
    { length: 120 },
    (_, index) => `default_gone-${String(index).padStart(3, "0")}.jsonl`,
  );
  for (const [index, name] of names.entries()) {
    await writeFile(join(temp.path, name), "");
    await utimes(join(temp.path, name), now / 1000, now / 1000 - index * 60);
  }
  for (const name of ["default_web.jsonl", "default_old.jsonl", ".default_web.jsonl.1.0.tmp"]) {
    await writeFile(join(temp.path, name), "");
    await utimes(join(temp.path, name), now / 1000, now / 1000 - 8 * 86_400);
  }
  const history = openHistory(temp.path);
  await history.prune(["default/web"]);
  assert.deepEqual((await readdir(temp.path)).sort(), [...names.slice(0, 100), "default_web.jsonl"]);
  assert.equal((await history.keys()).length, 101);
  await history.close();
});

test("events of existing apps are the last twenty; since a time, all of all apps", async () => {
  using temp = tempFolder();
  let now = Date.now() - 3 * 86_400_000;
  const history = openHistory(temp.path, () => now);
  history.add("default/gone", event("Deleted"));
  for (let count = 0; count < 30; count++) {
    now += 60_000;
    history.add("default/web", event("Exited", `status ${count}`));
  }
  now = Date.now();
  history.add("default/web", { usage: { memPCT: 3 } });
  history.add("default/web", event("Exited", "status 29"));
  const read = async (query: EventQuery) =>
    (await Array.fromAsync(readEvents(history, query, ["default/web"]))).flat();
  const last = await read({});
  assert.deepEqual([last.length, last.at(-1)?.message, last.at(-1)?.count], [20, "status 29", 2]);
  const all = await read({ since: now - 4 * 86_400_000 });
  assert.deepEqual([all.length, new Set(all.map(({ app }) => app)).size], [31, 2]);
  assert.equal((await read({ app: "default/gone", since: now - 4 * 86_400_000 }))[0]?.reason, "Deleted");
  assert.equal((await read({ since: now - 3_600_000 })).length, 1);
  await history.close();
});
