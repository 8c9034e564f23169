import assert from "node:assert/strict";
import { readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  ensureFolder,
  errorCode,
  readIfExists,
  whoElseCanChange,
  writeFileAtomic,
  writeNew,
} from "../../src/lib/files.ts";
import { tempFolder } from "../temp-folder.ts";

test("whoElseCanChange() names the owner of a folder, or that others can write to it", () => {
  assert.equal(whoElseCanChange({ uid: 0, mode: 0o40755 }, 1000), undefined);
  assert.equal(whoElseCanChange({ uid: 1000, mode: 0o40700 }, 1000), undefined);
  assert.equal(whoElseCanChange({ uid: 1000, mode: 0o40700 }, 0), "it belongs to user 1000");
  for (const mode of [0o40775, 0o41777]) {
    assert.equal(whoElseCanChange({ uid: 0, mode }, 0), "other users can write to it");
  }
});

test("writeFileAtomic() replaces the content, is private, and leaves no other file", async () => {
  using place = tempFolder();
  const path = join(place.path, "record");
  await writeFileAtomic(path, "one");
  await writeFileAtomic(path, "two");
  assert.equal(await readFile(path, "utf8"), "two");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(place.path), ["record"]);
});

test("writeFileAtomic() replaces a planted symlink instead of writing through it", async () => {
  using place = tempFolder();
  const victim = join(place.path, "victim");
  await writeFile(victim, "mine");
  await symlink(victim, join(place.path, "record"));
  await writeFileAtomic(join(place.path, "record"), "new");
  assert.equal(await readFile(victim, "utf8"), "mine");
});

test("writeFileAtomic() names the path when it cannot write", async () => {
  await assert.rejects(
    writeFileAtomic("/no/such/folder/file", "x"),
    /cannot write \/no\/such\/folder\/file: no such file/,
  );
});

test("ensureFolder() creates the folders above, and fails at once where the kernel takes none", async () => {
  using place = tempFolder();
  const path = join(place.path, "a/b/c");
  assert.equal(await ensureFolder(path), true);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  assert.equal(await ensureFolder(path), false);
  await assert.rejects(
    ensureFolder("/proc/none/none"),
    /^Error: \/proc\/none: no folder can be created there$/,
  );
  await assert.rejects(ensureFolder("/dev/null"), (error) => errorCode(error) === "ENOTDIR");
});

test("readIfExists() follows no symlink, and fails for a file that exists but cannot be read", async () => {
  using place = tempFolder();
  await writeFile(join(place.path, "file"), "text");
  await symlink(join(place.path, "file"), join(place.path, "link"));
  assert.equal(await readIfExists(join(place.path, "file")), "text");
  assert.equal(await readIfExists(join(place.path, "missing")), undefined);
  await assert.rejects(readIfExists(join(place.path, "link")), (error) => errorCode(error) === "ELOOP");
});

test("writeNew() refuses a file that exists", async () => {
  using place = tempFolder();
  await writeNew(join(place.path, "claim"), "one");
  await assert.rejects(writeNew(join(place.path, "claim"), "two"), (error) => errorCode(error) === "EEXIST");
});

test("ensureFolder() creates a private folder and refuses a symlink in its place", async () => {
  using place = tempFolder();
  await ensureFolder(join(place.path, "state"));
  assert.equal((await stat(join(place.path, "state"))).mode & 0o777, 0o700);
  await symlink("/tmp", join(place.path, "link"));
  await assert.rejects(ensureFolder(join(place.path, "link")), /not a folder/);
});
