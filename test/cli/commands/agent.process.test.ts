import assert from "node:assert/strict";
import { test } from "node:test";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { commands } from "../../../src/cli/commands/commands.ts";
import type { Io } from "../../../src/cli/command.ts";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { selfCommand } from "../../../src/cli/self-command.ts";
import { readHardware, readHardwareInChild } from "../../../src/node/hardware.ts";

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

async function run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let [stdout, stderr] = ["", ""];
  const io: Io = {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    env: {},
    columns: 0,
    signal: new AbortController().signal,
  };
  const code = await runCommandLine(words, commands, io);
  return { code, stdout, stderr };
}

test("hardware prints in a child process what readHardware() returns", async () => {
  const self = selfCommand({ execPath: process.execPath, execArgv: [], argv: [process.execPath, main] });
  assert.deepEqual(await readHardwareInChild([...self, "hardware"]), await readHardware());
});

test("hardware is hidden from help, completion and suggestions", async () => {
  for (const words of [["help"], ["completion", "bash"], ["hardwar"]]) {
    const { stdout, stderr } = await run(...words);
    assert.doesNotMatch(stdout + stderr.replace('"hardwar"', ""), /hardware|hardwar\b/, words.join(" "));
  }
  assert.equal((await run("hardware", "x")).code, 2);
});

test("selfCommand() returns the executable alone, or the runtime with its flags and the script", () => {
  const words = (execPath: string, script: string | undefined, ...execArgv: string[]) =>
    selfCommand({ execPath, execArgv, argv: script === undefined ? [execPath] : [execPath, script] });
  assert.deepEqual(words("/usr/bin/node", "/srv/main.ts", "--expose-gc"), [
    "/usr/bin/node",
    "--expose-gc",
    "/srv/main.ts",
  ]);
  assert.deepEqual(words("/usr/bin/deno", "/srv/main.ts"), ["/usr/bin/deno", "run", "-A", "/srv/main.ts"]);
  const installed = "/usr/local/bin/nckubelet";
  for (const script of [installed, "/tmp/deno-compile-nckubelet/src/main.ts", undefined]) {
    assert.deepEqual(words(installed, script, "--optimize-for-size"), [installed]);
  }
});
