/** What `launcher look` and `launcher read` see of paths that users name. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createLooker } from "../../../src/supervisor/launcher/look.ts";
import { readUserFile } from "../../../src/supervisor/launcher/read-file.ts";
import type { Look } from "../../../src/supervisor/launcher/types.ts";
import { builtLauncher, sanitizedLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { tempFolder } from "../../temp-folder.ts";

const skip = skipUnless("compilers");
const skipUnlessRoot = skip || process.getuid?.() !== 0 && "only root can look as another user";
const nobody = "65534 65534";

async function createEyes({ user = "", path = "" } = {}) {
  const program = path || await sanitizedLauncher();
  const looker = createLooker({ command: () => [program, "look"] });
  return {
    look: (path: string, { label = path, signal }: { label?: string; signal?: AbortSignal } = {}) =>
      looker.look(path, { user, label, signal }),
    async read(path: string): Promise<string> {
      const chunks: Uint8Array[] = [];
      const command = [program, "read", user, path];
      await readUserFile(command, (chunk) => chunks.push(chunk), { label: path });
      return Buffer.concat(chunks).toString("latin1");
    },
    [Symbol.dispose]: () => looker.close(),
  };
}

/** Files of root in a folder that everybody may enter. */
function createFolder() {
  const temp = tempFolder();
  chmodSync(temp.path, 0o755);
  const path = (name: string) => join(temp.path, name);
  return {
    path,
    write(name: string, text: string | Uint8Array, mode = 0o644) {
      writeFileSync(path(name), text);
      chmodSync(path(name), mode);
    },
    [Symbol.dispose]: temp.remove,
  };
}

const shown = ({ head, ...rest }: Look) => ({ ...rest, head: Buffer.from(head).toString("latin1") });

for (const [kind, find] of Object.entries({ native: builtLauncher, sanitized: sanitizedLauncher })) {
  test(`${kind}: look() describes files, folders and what is neither, whatever their names`, {
    skip,
  }, async () => {
    using folder = createFolder();
    folder.write("script", "#!/bin/sh\necho hi\n", 0o755);
    folder.write("it's \n $(odd) \\n `name`", "one  \\t line ");
    folder.write("bytes", new Uint8Array([0xff, 0xfe, 0xe9, 0, 10, 65]));
    folder.write("empty", "");
    folder.write("long", "x".repeat(10_000));
    mkdirSync(folder.path("folder"));
    execFileSync("mkfifo", [folder.path("fifo")]);
    const file = (head: string, executable = false) => ({ kind: "file", executable, head });
    const missing = (error: string) => ({ kind: "missing", executable: false, head: "", error });
    using eyes = await createEyes({ path: await find() });
    for (
      const [name, expected] of Object.entries({
        script: file("#!/bin/sh\necho hi\n", true),
        "it's \n $(odd) \\n `name`": file("one  \\t line "),
        bytes: file("\xff\xfe\xe9\0\nA"),
        empty: file(""),
        long: file("x".repeat(4096)),
        folder: { kind: "folder", executable: true, head: "" },
        fifo: { kind: "other", executable: false, head: "" },
        "script/below": missing("ENOTDIR"),
        none: missing("ENOENT"),
        "nul\0": missing("ENOENT"),
      })
    ) assert.deepEqual(shown(await eyes.look(folder.path(name))), expected, name);
  });

  test(`${kind}: read() passes on a regular file, and opens nothing else`, { skip }, async () => {
    using folder = createFolder();
    const text = "0123456789abcdef".repeat(20_000);
    folder.write("large", text);
    execFileSync("mkfifo", [folder.path("fifo")]);
    using eyes = await createEyes({ path: await find() });
    assert.equal(await eyes.read(folder.path("large")), text);
    for (
      const [path, code] of [
        [folder.path("none"), "ENOENT"],
        [folder.path("fifo"), "EINVAL"],
        ["/dev/zero", "EINVAL"],
        ["/", "EINVAL"],
      ] as const
    ) await assert.rejects(eyes.read(path), { code }, path);
  });
}

test("what a user may not read is neither seen nor read, by a link of that user, too", {
  skip: skipUnlessRoot,
}, async () => {
  using folder = createFolder();
  folder.write("secret", "#!secret\r\n", 0o600);
  folder.write("program", "#!secret\r\n", 0o711);
  mkdirSync(folder.path("own"));
  chownSync(folder.path("own"), 65534, 65534);
  symlinkSync(folder.path("secret"), folder.path("own/link"));
  mkdirSync(folder.path("private"), { mode: 0o700 });
  folder.write("private/inside", "secret", 0o644);
  using eyes = await createEyes({ user: nobody });
  for (
    const [name, kind, executable] of [
      ["secret", "unreadable", false],
      ["own/link", "unreadable", false],
      ["program", "unreadable", true],
      ["private/inside", "missing", false],
      ["private/none", "missing", false],
    ] as const
  ) {
    const path = folder.path(name);
    assert.deepEqual(shown(await eyes.look(path)), { kind, executable, head: "", error: "EACCES" }, name);
    await assert.rejects(eyes.read(path), { code: "EACCES" }, name);
  }
  assert.deepEqual(shown(await eyes.look(folder.path("private"))), {
    kind: "folder",
    executable: false,
    head: "",
  });
});

test("a user reads what one of its groups may read", { skip: skipUnlessRoot }, async () => {
  using folder = createFolder();
  folder.write("shared", "for the group\n", 0o640);
  chownSync(folder.path("shared"), 0, 4);
  using member = await createEyes({ user: `${nobody} 100000 4` });
  assert.equal(await member.read(folder.path("shared")), "for the group\n");
  using other = await createEyes({ user: nobody });
  await assert.rejects(other.read(folder.path("shared")), { code: "EACCES" });
});

test("a launcher that is gone is not taken for a file that is gone", async () => {
  using eyes = await createEyes({ path: "/no/launcher" });
  await assert.rejects(eyes.look("/etc/passwd"), /passwd: the process that looks at it has ended/);
  await assert.rejects(eyes.read("/etc/passwd"), (error: Error) => {
    assert.equal("code" in error, false);
    return /passwd: cannot execute \/no\/launcher: ENOENT/.test(error.message);
  });
});

test("looks at the same time get their own answers; a signal ends a look", { skip }, async () => {
  using eyes = await createEyes();
  const looks = await Promise.all(["/", "/etc/passwd", "/dev/null", "/no"].map((path) => eyes.look(path)));
  assert.deepEqual(looks.map(({ kind }) => kind), ["folder", "file", "other", "missing"]);
  await assert.rejects(eyes.look("/", { signal: AbortSignal.abort(new Error("stopped")) }), /stopped/);
});

test("looks at one path that wait share an answer; one that is ended does not end the others", {
  skip,
}, async () => {
  using eyes = await createEyes();
  const stopping = new AbortController();
  const first = eyes.look("/");
  const ended = eyes.look("/etc/passwd", { signal: stopping.signal });
  const others = [1, 2].map(() => eyes.look("/etc/passwd"));
  stopping.abort(new Error("stopped"));
  await assert.rejects(ended, /stopped/);
  assert.deepEqual((await Promise.all([first, ...others])).map(({ kind }) => kind), [
    "folder",
    "file",
    "file",
  ]);
});
