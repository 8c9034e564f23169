/** install.sh on machines that really lack something: disk space, a writable /usr, a download program. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createSandbox, fakeExecutable, type RunResult, type Sandbox } from "./sandbox.ts";

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
const skip = !canMount && process.env.CI !== "true" && "mounting takes root";

/** Runs install.sh with a mount on /usr/local/bin that only it sees, and returns the content of the mount afterwards. */
async function runWithMount(machine: Sandbox, mount: string): Promise<RunResult & { left: string }> {
  const bin = join(machine.root, "usr/local/bin");
  const left = join(machine.dir, "left");
  const script = join(machine.dir, "mount.sh");
  const words = `
    ${mount.replace("BIN", `'${bin}'`)} || exit 99
    sh '${join(machine.dir, "install.sh")}'
    code=$?
    ls -A '${bin}' >'${left}'
    exit $code`;
  await symlink(join(import.meta.dirname!, "../../install.sh"), join(machine.dir, "install.sh"));
  const result = await machine.run(["unshare", "--mount", "sh", "-c", words], script);
  return { ...result, left: await readFile(left, "utf8") };
}

test("on a full disk install.sh reports how much is free, and leaves nothing behind", { skip }, async () => {
  await using machine = await createSandbox(
    `${fakeExecutable("1.0.0")}: ${randomBytes(100_000).toString("hex")}\n`,
  );
  const before = await machine.list();
  const { code, stderr, left } = await runWithMount(machine, "mount -t tmpfs -o size=64k tmpfs BIN");
  assert.match(
    stderr,
    /^install: cannot \w+ .*: no space left: \/.* has 0 MB free, the executable needs 120 MB\n$/,
  );
  assert.deepEqual([code, left], [1, ""]);
  assert.deepEqual([await machine.list(), await machine.calls()], [before, []]);
});

test("with a read-only /usr install.sh reports it in one line, and changes nothing", { skip }, async () => {
  await using machine = await createSandbox();
  const before = await machine.list();
  const { code, stderr, left } = await runWithMount(machine, "mount -t tmpfs -o ro tmpfs BIN");
  assert.match(stderr, /^install: cannot write to .*\/usr\/local\/bin: Read-only file system\n$/);
  assert.deepEqual([code, left], [1, ""]);
  assert.deepEqual([await machine.list(), await machine.calls()], [before, []]);
});

/** The PATH of a machine that has these programs and no others, apart from the sandbox's fakes. */
async function barePath(machine: Sandbox, more: string[]): Promise<string> {
  const folder = join(machine.dir, "bare");
  await mkdir(folder);
  const usual =
    "sh cat chmod cmp cp cut basename df dirname find flock grep gzip head ln mkdir mktemp mv od rm sed sha256sum tail touch tr uname";
  const found = (name: string) =>
    execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
  for (const name of [...usual.split(" "), ...more]) await symlink(found(name), join(folder, name));
  return `${machine.tools}:${folder}`;
}

const hasWget = spawnSync("wget", ["--version"]).status === 0;

test("without curl install.sh downloads with wget, and names what it could not download", {
  skip: !hasWget && "no wget here",
}, async () => {
  await using machine = await createSandbox();
  const before = await machine.list();
  const env = { PATH: await barePath(machine, ["wget"]) };
  const failed = await machine.run(["sh"], undefined, { ...env, NCKUBELET_URL: "http://127.0.0.1:1" });
  assert.match(failed.stderr, /^install: cannot download http:\/\/127\.0\.0\.1:1\/SHA256SUMS: .+\n$/);
  assert.deepEqual([failed.code, await machine.list()], [1, before]);
  const { code, stderr } = await machine.run(["sh"], undefined, env);
  assert.deepEqual([code, stderr], [0, ""]);
});

test("without curl and without wget install.sh reports it, and changes nothing", async () => {
  await using machine = await createSandbox();
  const before = await machine.list();
  const { code, stderr } = await machine.run(["sh"], undefined, { PATH: await barePath(machine, []) });
  assert.match(stderr, /^install: cannot download http:\S+: install curl or wget\n$/);
  assert.deepEqual([code, await machine.list()], [1, before]);
});
