/** Which interpreter runs a script, and what is said about files that none can run, on a real supervisor. */
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { createMarkerConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { createTestNode, type TestNode } from "../test-node.ts";

const createNode = () => createTestNode(createMarkerConfinement("this test uses markers"));

async function outputOf(node: TestNode, text: string, mode: number, spec: NCAppSpec = {}): Promise<string> {
  const shellFile = await node.script("app", text);
  await chmod(shellFile, mode);
  await node.assign("one", { shellFile, restartPolicy: "Never", ...spec });
  await node.reach("one", "Succeeded");
  return (await node.log("one")).replaceAll(node.folder, "~");
}

async function refusal(node: TestNode, spec: NCAppSpec): Promise<[reason: string, message: string]> {
  await node.assign("one", spec);
  const names = (text: string) => text.includes(JSON.stringify(spec.shellFile));
  const { reason, message } = await node.reach("one", "Pending", ({ message }) => names(message));
  return [reason, message.replaceAll(node.folder, "~")];
}

for (const mode of [0o644, 0o755]) {
  test(`the shebang runs a script with mode ${mode.toString(8)}: interpreter, argument, $0, arguments`, async () => {
    await using node = await createNode();
    const cat = '#!/usr/bin/env -S printf %s|\nnot a shell: [[ "$(\n';
    assert.equal(await outputOf(node, cat, mode, { args: ["a b"] }), "~/app|a b|");
  });
}

test("a script without x bit and shebang is run by sh", async () => {
  await using node = await createNode();
  assert.equal(await outputOf(node, 'echo "$0 $1"\n', 0o644, { args: ["x"] }), "~/app x\n");
});

const found = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const missing: [what: string, text: string, env: Record<string, string>, words: RegExp][] = [
  [
    "its shebang names",
    "#!/opt/no/python9 -u\n",
    {},
    /"#!\/opt\/no\/python9 -u", and there is no "\/opt\/no\/python9"/,
  ],
  [
    "it searches on the PATH",
    "#!/usr/bin/env python9\n",
    found,
    /"python9" is in no folder of the PATH, "\/usr\/local\/bin:/,
  ],
  ["is relative", "#!python9\n", {}, /there is no "python9" on this node/],
  ["is a folder", "#!/etc\n", {}, /may not execute "\/etc"/],
];
for (const [what, text, env, words] of missing) {
  for (const mode of [0o644, 0o755]) {
    test(`a script with mode ${mode.toString(8)} whose interpreter is missing (${what}) names it and does not start`, async () => {
      await using node = await createNode();
      const shellFile = await node.script("app", text);
      await chmod(shellFile, mode);
      const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
      const [reason, message] = await refusal(node, { shellFile, env: variables });
      assert.equal(reason, "InterpreterNotFound");
      assert.match(message, /^spec\.shellFile: "~\/app": its first line is "#!/);
      assert.match(message, words);
    });
  }
}

test("an interpreter that env finds on the PATH of the app is not missing", async () => {
  await using node = await createNode();
  await node.script("own-interpreter", "#!/bin/sh\necho by $0\n");
  const env = [{ name: "PATH", value: `/no/folder:${node.folder}:/bin` }];
  assert.equal(
    await outputOf(node, "#!/usr/bin/env own-interpreter\n", 0o755, { env }),
    "by ~/own-interpreter\n",
  );
});

test("a command line in place of a path gets a hint at args; a path with a space does not", async () => {
  await using node = await createNode();
  assert.deepEqual(await refusal(node, { shellFile: "/bin/sleep --for 70" }), [
    "ScriptNotFound",
    'spec.shellFile: "/bin/sleep --for 70": no such file on this node; "/bin/sleep" is a file: name only that, and put the rest into spec.args: ["--for","70"]',
  ]);
  const [, message] = await refusal(node, { shellFile: "/no/such file.sh" });
  assert.doesNotMatch(message, /args/);
});

const archives: [name: string, content: Uint8Array | string][] = [
  ["app.tar.gz", "no script"],
  ["app.TGZ", "no script"],
  ["app.zip", "no script"],
  ["app.sh", gzipSync("echo")],
  ["other.sh", zstdCompressSync("echo")],
  ["more.sh", "PK\x03\x04 \0"],
];
test("an archive, by its name or its first bytes, is never run as a script", async () => {
  await using node = await createNode();
  for (const [name, content] of archives) {
    const shellFile = join(node.folder, name);
    await writeFile(shellFile, content, { mode: 0o755 });
    const [reason, message] = await refusal(node, { shellFile });
    assert.deepEqual([name, reason], [name, "InvalidScript"]);
    assert.match(message, /is an archive, not a script: unpack it/);
  }
});

test("a script that is named like an archive runs if it has a shebang", async () => {
  await using node = await createNode();
  const shellFile = await node.script("install.tar.gz", "#!/bin/sh\necho unpacked\n");
  await node.assign("one", { shellFile, restartPolicy: "Never" });
  await node.reach("one", "Succeeded");
  assert.equal(await node.log("one"), "unpacked\n");
});

test("a program without x bit is not run by sh, and the message says why", async () => {
  await using node = await createNode();
  const shellFile = join(node.folder, "program");
  await writeFile(shellFile, "\x7fELF\x02\x01", { mode: 0o644 });
  const [reason, message] = await refusal(node, { shellFile });
  assert.equal(reason, "InvalidScript");
  const who = process.getuid?.() === 0 ? "uid 0" : "the agent's user";
  assert.equal(message, `spec.shellFile: "~/program" is a program that ${who} may not execute: try chmod +x`);
});
