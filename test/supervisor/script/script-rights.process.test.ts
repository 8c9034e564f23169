/** Scripts are checked and read with the rights of their app's user, not with those of the agent. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, copyFile, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createMarkerConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import type { UserFiles } from "../../../src/supervisor/launcher/launcher.ts";
import { prepareScript } from "../../../src/supervisor/script/script.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { openTestLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { tempFolder } from "../../temp-folder.ts";
import { createTestNode, type TestNode } from "../test-node.ts";

const createNode = () => createTestNode(createMarkerConfinement("this test uses markers"));
const skip = skipUnless("compilers") ||
  process.getuid?.() !== 0 && "only root can run an app as another user";
const nobody = "65534 65534";
const windowsScript = "#!/bin/sh\r\necho ran\r\n";

/** A file that only root can read, and a folder of user nobody with a link to it. */
async function createSecret(folder: string, text: string) {
  const [secret, own] = [join(folder, "secret"), join(folder, "own")];
  await writeFile(secret, text, { mode: 0o600 });
  await mkdir(own);
  await chown(own, 65534, 65534);
  await symlink(secret, join(own, "link"));
  return { own, link: join(own, "link") };
}

/** Everything that is known about an app that cannot start. */
async function refused(node: TestNode, name: string): Promise<AppRecord> {
  return await node.reach(name, "Pending", ({ reason }) => reason !== "");
}

test("a script that becomes a link to a file of root after the check is not copied for its user", {
  skip,
}, async () => {
  using temp = tempFolder();
  await chmod(temp.path, 0o755);
  const { own, link } = await createSecret(temp.path, "#!/bin/sh\r\nroot only\r\n");
  const [path, copyPath] = [join(own, "app.sh"), join(temp.path, "copies", "run", "script")];
  const launcher = await openTestLauncher(join(temp.path, "state"));
  using _close = { [Symbol.dispose]: () => launcher.close() };
  const files: UserFiles = {
    async look(...args) {
      const seen = await launcher.look(...args);
      await rename(link, path);
      return seen;
    },
    read: (...args) => launcher.read(...args),
  };
  for (const sha256 of [undefined, "0".repeat(64)]) {
    await symlink(join(temp.path, "secret"), link).catch(() => {});
    await writeFile(`${path}.new`, windowsScript, { mode: 0o755 });
    await rename(`${path}.new`, path);
    await assert.rejects(prepareScript(path, { user: nobody, files, copyPath, sha256 }), {
      reason: "ScriptUnreadable",
    });
    assert.equal(existsSync(copyPath), false);
  }
});

test("the interpreter and the digest are those of the bytes that are copied, not of the file before", {
  skip: skipUnless("compilers"),
}, async () => {
  using temp = tempFolder();
  const [path, copyPath] = [join(temp.path, "app.sh"), join(temp.path, "copies", "run", "script")];
  await writeFile(path, windowsScript, { mode: 0o755 });
  const launcher = await openTestLauncher(join(temp.path, "state"));
  using _close = { [Symbol.dispose]: () => launcher.close() };
  const changed = "#!/bin/bash\r\necho changed\r\n";
  const files: UserFiles = {
    async look(...args) {
      const seen = await launcher.look(...args);
      await writeFile(path, changed);
      return seen;
    },
    read: (...args) => launcher.read(...args),
  };
  const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");
  const options = { user: "", files, copyPath };
  const { command } = await prepareScript(path, { ...options, sha256: digestOf(changed) });
  assert.equal(command[0], "/bin/bash");
  await writeFile(path, windowsScript);
  await assert.rejects(prepareScript(path, { ...options, sha256: digestOf(windowsScript) }), {
    reason: "DigestMismatch",
  });
});

test("nothing of a script that its user cannot read reaches status, arguments or log", { skip }, async () => {
  const text = "#!/sbin/hidden-word\r\n";
  const digest = createHash("sha256").update(text).digest("hex");
  await using node = await createNode();
  const { link } = await createSecret(node.folder, text);
  const spec = { shellFile: link, runAsUser: 65534 };
  await node.assign("line", spec);
  await node.assign("digest", { ...spec, shellFileSHA256: "0".repeat(64) });
  for (const name of ["line", "digest"]) {
    const record = await refused(node, name);
    assert.equal(record.reason, "ScriptUnreadable");
    assert.match(record.message, /own\/link": cannot be read by uid 65534: permission denied$/);
    const known = JSON.stringify(record) + await node.log(name) + await node.commandLines();
    assert.equal(known.includes("hidden-word") || known.includes(digest), false);
  }
});

test("a stop file that its user cannot read is not run from a copy", { skip }, async () => {
  await using node = await createNode();
  const ran = join(node.folder, "own", "ran");
  const { link } = await createSecret(node.folder, `#!/bin/sh\r\n: >${ran}\r\n`);
  const shellFile = await node.script("app.sh", "#!/bin/sh\necho up\nexec sleep 600\n");
  await node.assign("app", { shellFile, stopFile: link, runAsUser: 65534 });
  await node.logHas("app", "up");
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  assert.equal(existsSync(ran), false);
});

test("a script that a group of its user may read runs, and so does a program that may only be executed", {
  skip,
}, async () => {
  await using node = await createNode();
  const shared = await node.script("shared.sh", windowsScript);
  await chown(shared, 0, 65533);
  await chmod(shared, 0o640);
  const once = { restartPolicy: "Never", runAsUser: 65534 } as const;
  await node.assign("shared", { ...once, shellFile: shared, runAsGroup: 65533 });
  await node.reach("shared", "Succeeded");
  assert.equal(await node.log("shared"), "ran\n");
  const program = join(node.folder, "program");
  await copyFile("/bin/echo", program);
  await chmod(program, 0o711);
  await node.assign("program", { ...once, shellFile: program, args: ["executed"] });
  await node.reach("program", "Succeeded");
  assert.equal(await node.log("program"), "executed\n");
});

test("a working directory that the app's user may not enter is named before the app starts", {
  skip,
}, async () => {
  await using node = await createNode();
  const workingDir = join(node.folder, "private");
  await mkdir(workingDir, { mode: 0o700 });
  const shellFile = await node.script("app.sh", "#!/bin/sh\npwd\n");
  await node.assign("app", { shellFile, workingDir, runAsUser: 65534 });
  const { reason, message } = await refused(node, "app");
  assert.equal(reason, "InvalidWorkingDir");
  assert.match(message, /private": uid 65534 may not enter it, or a folder above it$/);
});
