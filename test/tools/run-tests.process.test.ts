/** Runs the real runner on a small checkout with tests and an installer of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { checkout } from "../../tools/checkout.ts";
import { whyNotInstall } from "../../tools/test/install-part.ts";
import { skipUnless } from "../harness/parts.ts";
import { waitUntilNoProcess } from "../harness/processes.ts";
import { openTmux } from "../harness/tmux.ts";
import { tempFolder } from "../temp-folder.ts";

/** The path of Node in a checkout: not that of this process, which may be Deno. */
const node = join(checkout, "node_modules/.bin/node");

/** A checkout with the runner and these files alone. Its installer installs nothing, and waits for the guest until it is ended. */
function smallCheckout(files: Record<string, string>): { path: string } & Disposable {
  const temp = tempFolder();
  for (const folder of ["tools", "test/harness"]) {
    cpSync(join(checkout, folder), join(temp.path, folder), { recursive: true });
  }
  for (const name of ["node_modules", "package.json"]) {
    symlinkSync(join(checkout, name), join(temp.path, name));
  }
  const installer = 'echo "install-parts: $1: fetching"; [ "$1" != guest ] || sleep 1000';
  const all = { ...files, "test/harness/install-parts.sh": installer };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(temp.path, name)), { recursive: true });
    writeFileSync(join(temp.path, name), text);
  }
  return { path: temp.path, [Symbol.dispose]: () => temp.remove() };
}

const environment = (path: string) => ({
  PATH: process.env.PATH,
  HOME: path,
  NCKUBELET_CACHE: join(path, "cache"),
});

function runIn(path: string, env: Record<string, string>) {
  const { status, stdout, stderr } = spawnSync(node, ["tools/test.ts", "unit"], {
    cwd: path,
    env: { ...environment(path), ...env },
    encoding: "utf8",
    timeout: 60_000,
  });
  const lines = stdout.trimEnd().split("\n");
  const has = (pattern: RegExp) =>
    assert.ok(lines.some((line) => pattern.test(line)), `${pattern}\n${stdout}`);
  return { status, stdout, stderr, lines, has };
}

test("in a pipe a run says each step in a line, shows failures, and ends with what was slow, what was not run and the totals", () => {
  const unit = `import { test } from "node:test";
    test("a slow one", async (t) => {
      await t.test("its subtest", () => new Promise((resolve) => setTimeout(resolve, 1200)));
    });
    test("a test that breaks", () => { throw new Error("it broke"); });
    test("a test without its part", { skip: "guest: there is none" }, () => {});`;
  const group = `import { describe, it } from "node:test";
    describe("a group", { skip: "cluster: there is none" }, () => it("is never reported", () => {}));`;
  using small = smallCheckout({
    "test/unit.test.ts": unit,
    "test/group.test.ts": group,
    "test/empty.test.ts": "",
  });
  const { status, stdout, stderr, lines, has } = runIn(small.path, {});
  assert.deepEqual([status, stderr], [1, ""], stdout);
  assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f]/);
  assert.equal(lines.at(-1), "4 passed, 2 failed, 4 skipped");
  has(/^== unit tests on Node [\d.]+$/);
  has(/^== unit tests on Deno: 2 passed, 1 failed, 2 skipped \(\d+\.\d s\)$/);
  has(/^ {2}FAIL {2}a test that breaks {2}\(test\/unit\.test\.ts\)$/);
  has(/^ {8}Error: it broke$/);
  has(/^ +\d+\.\d s {2}unit on Node: a slow one > its subtest {2}\(test\/unit\.test\.ts\)$/);
  has(/^ +\d+\.\d s {2}unit on Deno: a slow one > its subtest {2}\(test\/unit\.test\.ts\)$/);
  has(/^ +2 {2}guest: there is none$/);
  has(/^ +2 {2}cluster: there is none$/);
  has(whyNotInstall() ? /^missing parts are not installed: / : /^== part compilers is there \(\d+\.\d s\)$/);
});

test("with CI=true a skip fails that nobody allowed; a process that is left behind always fails, and is killed", async () => {
  const unit = `import { spawn } from "node:child_process";
    import { test } from "node:test";
    test("a test that leaves a process", () => {
      spawn("tail", ["-f", import.meta.filename], { detached: true, stdio: "ignore" }).unref();
    });
    test("a test without its part", { skip: "guest: there is none" }, () => {});
    test("has no admission policies", { skip: true }, () => {});`;
  using small = smallCheckout({ "test/unit.test.ts": unit });
  const { status, lines, has } = runIn(small.path, { CI: "true" });
  assert.deepEqual([status, lines.at(-1)], [1, "2 passed, 4 failed, 4 skipped"], lines.join("\n"));
  has(/^FAIL {2}left behind: process \d+, tail -f \S+unit\.test\.ts$/);
  has(/^FAIL {2}skipped with CI=true, and not in \S+: a test without its part: guest: there is none$/);
  await waitUntilNoProcess(join(small.path, "test/unit.test.ts"));
});

test("on a terminal a run shows what is under way, and after Ctrl-C nothing of that is left", {
  skip: skipUnless("tmux"),
}, async () => {
  using small = smallCheckout({
    "test/unit.test.ts": `import { test } from "node:test";
      test("a quick one", () => {});
      test("one that hangs", () => new Promise((resolve) => setTimeout(resolve, 100_000)));`,
    "test/guest/guest.test.ts": "",
  });
  await using terminal = await openTmux({
    columns: 90,
    env: environment(small.path) as Record<string, string>,
  });
  await terminal.type(`cd ${small.path} && ${node} tools/test.ts unit guest; echo code $?`, "Enter");
  const live = await terminal.until(/^unit tests on Node .* 1 test {2}\d:\d\d {2}test\/unit\.test\.ts$/m);
  if (!whyNotInstall()) {
    assert.match(live, /^== part compilers is there .*: compilers: fetching$/m);
    // The guest is installed while the unit tests run.
    await terminal.until(/^installing guest .* \d:\d\d {2}guest: fetching$/m);
  }
  await terminal.type("C-c");
  const end = await terminal.until(/^code \d+$/m);
  assert.match(end, /^ +all {2}guest: interrupted$/m);
  assert.match(end, /^\d+ passed, \d+ failed, \d+ skipped\ncode 130\nready\$ *$/m);
  assert.doesNotMatch(end, /\d:\d\d {2}/, "a live line is left");
});
