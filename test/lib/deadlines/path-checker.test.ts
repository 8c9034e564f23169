import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PathCheck } from "../../../src/lib/deadlines/deadlines.ts";
import { createPathChecker } from "../../../src/lib/deadlines/path-checker.ts";
import { tempFolder } from "../../temp-folder.ts";

test("check() describes files, folders and what is neither, whatever their names", async () => {
  using temp = tempFolder();
  const path = (name: string) => join(temp.path, name);
  const write = (name: string, text: string | Uint8Array, mode = 0o644) => {
    writeFileSync(path(name), text);
    chmodSync(path(name), mode);
  };
  write("script", "#!/bin/sh\necho hi\n", 0o755);
  write("it's \n $(odd) \\n `name`", "one  \\t line ");
  write("windows", "#!/bin/sh\r\n");
  write("bytes", new Uint8Array([0xff, 0xfe, 0xe9, 10, 65]));
  write("empty", "");
  mkdirSync(path("folder"));
  execFileSync("mkfifo", [path("fifo")]);
  const file = (firstLine: string, executable = false) => ({ kind: "file", executable, firstLine });
  const other = (kind: PathCheck["kind"]) => ({ kind, executable: false, firstLine: "" });
  const { check } = createPathChecker({ idleMs: 1 });
  for (
    const [name, expected] of Object.entries({
      script: file("#!/bin/sh\n", true),
      "it's \n $(odd) \\n `name`": file("one  \\t line "),
      windows: file("#!/bin/sh\r\n"),
      bytes: file("\xff\xfe\xe9\n"),
      empty: file(""),
      folder: other("folder"),
      fifo: other("other"),
      "script/below": other("missing"),
      none: other("missing"),
      "nul\0": other("missing"),
    })
  ) assert.deepEqual(await check(path(name), name), expected, name);
});

test("checks at the same time get their own answers; a signal ends a check", async () => {
  const { check } = createPathChecker({ idleMs: 1 });
  const kinds = await Promise.all(["/", "/etc/passwd", "/dev/null", "/no"].map((path) => check(path, path)));
  assert.deepEqual(kinds.map(({ kind }) => kind), ["folder", "file", "other", "missing"]);
  await assert.rejects(check("/", "/", AbortSignal.abort(new Error("stopped"))), /stopped/);
});

test("checks of one path that wait share an answer; one that is ended does not end the others", async () => {
  const { check } = createPathChecker({ idleMs: 1 });
  const stopping = new AbortController();
  const first = check("/", "/");
  const ended = check("/etc/passwd", "passwd", stopping.signal);
  const others = [1, 2].map(() => check("/etc/passwd", "passwd"));
  stopping.abort(new Error("stopped"));
  await assert.rejects(ended, /stopped/);
  assert.deepEqual((await Promise.all([first, ...others])).map(({ kind }) => kind), [
    "folder",
    "file",
    "file",
  ]);
});
