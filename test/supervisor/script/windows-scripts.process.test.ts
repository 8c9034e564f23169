/**
 * Scripts saved by editors on Windows, on a real supervisor.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createMarkerConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { waitFor } from "../../wait-for.ts";
import { findProgram } from "../real-programs/find-program.ts";
import { createTestNode, type TestNode } from "../test-node.ts";

const createNode = () => createTestNode(createMarkerConfinement("this test uses markers"));
const skip = process.getuid?.() !== 0 && "only root can run an app as another user";

/** Runs a script to its end and returns its log, with the node's folder as `~`. */
async function outputOf(node: TestNode, shellFile: string, spec: object = {}): Promise<string> {
  await node.assign("one", { shellFile, restartPolicy: "Never", ...spec });
  await node.reach("one", "Succeeded");
  return (await node.log("one")).replaceAll(node.folder, "~");
}

/** Prints $0, the arguments and the status, in CR LF. */
const windowsText = [
  'name="$0"',
  'folder=$(cd "$(dirname "$0")" && pwd)',
  'printf "%s|" "$name" "$folder" "$@"',
  "# a comment",
  "if true; then",
  "  echo",
  "fi",
  "cat <<END",
  "here",
  "END",
  "exit 0",
  "",
].join("\r\n");

const forms: Record<string, { head: string; mode?: number }> = {
  "with #!/bin/sh": { head: "#!/bin/sh\r\n" },
  "with an option in its shebang": { head: "#!/bin/sh -eu\r\n" },
  "with #!/bin/sh -": { head: "#!/bin/sh -\r\n" },
  "with #!/usr/bin/env sh": { head: "#!/usr/bin/env sh\r\n" },
  "without shebang": { head: "# nothing\r\n" },
  "that is not executable": { head: "#!/bin/sh\r\n", mode: 0o644 },
  "with a byte order mark": { head: "\uFEFF#!/bin/sh\r\n" },
};
for (const [what, { head, mode = 0o755 }] of Object.entries(forms)) {
  test(`a script with the line ends of Windows, ${what}, runs: $0 is its path, dirname its folder`, async () => {
    await using node = await createNode();
    const shellFile = await node.script("my app.sh", head + windowsText);
    await chmod(shellFile, mode);
    const output = await outputOf(node, shellFile, { args: ["one", "two words"] });
    assert.equal(output, "~/my app.sh|~|one|two words|\nhere\n");
  });
}

test("the shebang runs a script with a byte order mark and LF line ends", async () => {
  await using node = await createNode();
  const shellFile = await node.script(
    "bom.sh",
    '\uFEFF#!/bin/bash\nprintf \'%s %s\' "${BASH_VERSION:+bash}" "$0"',
  );
  assert.equal(await outputOf(node, shellFile), "bash ~/bom.sh");
});

test("the shebang runs a Python script with the line ends of Windows, which finds its neighbors", async (t) => {
  if (!findProgram("python3")) return t.skip("no python3 on this machine");
  await using node = await createNode();
  await node.script("neighbor.py", 'word = "hello"\r\n');
  const shellFile = await node.script(
    "main.py",
    "#!/usr/bin/env python3\r\nimport sys\r\nfrom neighbor import word\r\nprint(word, sys.argv[1:])\r\n",
  );
  assert.equal(await outputOf(node, shellFile, { args: ["a"] }), "hello ['a']\n");
});

test("a script that its user cannot read gets no repaired copy; a copy is removed with its run", {
  skip,
}, async () => {
  await using node = await createNode();
  const secret = await node.script("secret.sh", "#!/bin/sh\r\necho ran\r\n");
  await chmod(secret, 0o700);
  await node.assign("other", { shellFile: secret, runAsUser: "nobody", restartPolicy: "Never" });
  const { reason, message } = await node.reach("other", "Pending", ({ reason }) => reason !== "");
  assert.equal(reason, "ScriptUnreadable");
  assert.match(message, /secret\.sh": cannot be read by uid 65534: permission denied$/);
  await chmod(secret, 0o755);
  assert.equal(await outputOf(node, secret, { runAsUser: "nobody" }), "ran\n");
  await waitFor(
    "no copy remains",
    async () => (await readdir(join(node.layout.stateDir, "copies"))).length === 0,
  );
});

test(
  "other users cannot read a repaired copy, even of the same group, or if the script in its private folder is readable for all",
  {
    skip,
  },
  async () => {
    await using node = await createNode();
    const shellFile = await node.script("inner.sh", "#!/bin/sh\r\necho up\r\nsleep 60\r\n");
    await node.assign("own", { shellFile, runAsUser: "nobody" });
    await node.logHas("own", "up");
    const copy = join(node.layout.stateDir, "copies", node.record("own").run?.id ?? "", "script");
    const readAs = (uid: number, gid: number) =>
      execFileSync("setpriv", [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "cat", copy], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    assert.equal(readAs(65534, 65534), "#!/bin/sh\necho up\nsleep 60\n");
    assert.throws(() => readAs(1, 1));
    assert.throws(() => readAs(1, 65534));
  },
);

test("the digest is that of the file, not of its repaired copy", async () => {
  await using node = await createNode();
  const shellFile = await node.script("signed.sh", "#!/bin/sh\r\necho signed\r\n");
  const [shellFileSHA256] = execFileSync("sha256sum", [shellFile], { encoding: "utf8" }).split(" ");
  assert.equal(await outputOf(node, shellFile, { shellFileSHA256 }), "signed\n");
});

test("the error for a script in UTF-16 says what to do", async () => {
  await using node = await createNode();
  const shellFile = join(node.folder, "wide.sh");
  await writeFile(shellFile, "\uFEFFecho hi\r\n", { encoding: "utf16le", mode: 0o755 });
  await node.assign("wide", { shellFile });
  const { reason, message } = await node.reach("wide", "Pending", ({ reason }) => reason !== "");
  assert.equal(reason, "InvalidScript");
  assert.match(message, /wide\.sh" is UTF-16 text; save it as UTF-8$/);
});
