import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { commands } from "../../src/cli/commands.ts";
import { call } from "./test-agent.ts";

const run = promisify(execFile);

/** What bash offers after these words; the program itself is a function that lists two apps. */
async function complete(...words: string[]): Promise<string[]> {
  const { stdout: script } = await call(["completion", "bash"]).done;
  const last = words.length;
  const lines = [
    "nckubelet() { printf 'default/web\\nshop/web\\n'; }",
    script,
    `COMP_WORDS=(nckubelet ${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${last}`,
    '_nckubelet; printf "%s\\n" "${COMPREPLY[@]}"',
  ];
  const { stdout } = await run("bash", ["-c", lines.join("\n")]);
  return stdout.trim().split("\n");
}

test("bash completes commands, flags of a command, and apps", async () => {
  assert.deepEqual(await complete("de"), ["describe", "delete"]);
  assert.deepEqual(await complete("logs", "--f"), ["--follow"]);
  assert.deepEqual(await complete("logs", ""), ["web", "shop/web"]);
  assert.deepEqual(await complete("restart", "w"), ["web"]);
  assert.deepEqual(await complete("completion", "z"), ["zsh"]);
});

test("each shell's script knows every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await call(["completion", shell]).done;
    assert.equal(code, 0);
    for (const name of Object.keys(commands)) assert.ok(stdout.includes(name), `${shell}: ${name}`);
  }
  assert.match((await call(["completion", "csh"]).done).stderr, /name one shell: bash, zsh or fish/);
});
