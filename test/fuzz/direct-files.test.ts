import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import promises, { constants, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { tempFolder } from "../temp-folder.ts";
import { directFiles, useDirectFiles } from "./direct-files.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Runs file operations through one implementation, in a new folder, and returns their results. */
async function story(way: Pick<typeof promises, keyof typeof directFiles>): Promise<unknown[]> {
  using temp = tempFolder();
  const root = temp.path;
  const [folder, path, link] = [join(root, "a", "b"), join(root, "a", "b", "file"), join(root, "link")];
  symlinkSync(path, link);
  const trouble = (promise: Promise<unknown>) => promise.then(() => "none", ({ code }) => code);
  const told: unknown[] = [await way.mkdir(folder, { recursive: true, mode: 0o700 }).then(() => "made")];
  {
    await using file = await way.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600);
    await file.writeFile("hello w\u00f6rld");
    await file.chmod(0o640);
  }
  await using file = await way.open(path, O_RDONLY | O_NOFOLLOW);
  const { mode, size } = await file.stat();
  const [start, rest] = [new Uint8Array(5), new Uint8Array(20)];
  told.push(mode, size, (await file.read(start, 0, 5, 0)).bytesRead, start);
  told.push((await file.read(rest, { position: 6 })).bytesRead, rest);
  told.push(await file.readFile("utf8"), await way.readdir(folder));
  told.push((await way.stat(link)).isFile(), (await way.lstat(link)).isFile());
  await way.chmod(path, 0o400);
  told.push((await way.stat(path)).mode);
  told.push(
    await trouble(way.open(link, O_RDONLY | O_NOFOLLOW)),
    await trouble(way.open(join(root, "no"))),
  );
  told.push(await trouble(way.open(path, O_WRONLY | O_CREAT | O_EXCL)), await trouble(way.readdir(path)));
  await way.rm(path, { force: true });
  return [...told, await trouble(way.rm(path)), await trouble(way.stat(path))];
}

test("direct files return and refuse the same as those of the thread pool", async () => {
  const direct = directFiles as unknown as typeof promises;
  const told = await story(direct);
  assert.deepEqual(told, await story(promises));
  assert.deepEqual(told.slice(-6), ["ELOOP", "ENOENT", "EEXIST", "ENOTDIR", "ENOENT", "ENOENT"]);
});

test(
  "useDirectFiles() reaches modules that were loaded before, until it is undone",
  { skip: process.versions.deno ? "the long run is on Node" : false },
  () => {
    const before = stat;
    const undo = useDirectFiles();
    const meanwhile = stat;
    undo();
    assert.equal(meanwhile, directFiles.stat);
    assert.equal(stat, before);
  },
);
