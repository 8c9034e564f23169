/** Logs of numbered lines: written by a real process at full speed, and checked for gaps and repeats. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { listParts } from "../../src/supervisor/log-parts.ts";

/** Appends `count` lines of 100 bytes, as an app does whose launcher opened the log; resolves when all are written. */
export async function writeNumbers(logPath: string, count: number, first = 1): Promise<void> {
  const format = `%012.0f ${"x".repeat(86)}`;
  const last = String(first + count - 1);
  const writer = spawn("/bin/sh", [
    "-c",
    'seq -f "$1" "$2" "$3" >>"$0"',
    logPath,
    format,
    String(first),
    last,
  ], {
    stdio: "ignore",
  });
  const [code] = await once(writer, "exit");
  assert.equal(code, 0);
}

/** The whole stream, from the oldest part to the log itself. */
export async function readJoined(logPath: string): Promise<string> {
  const paths = [...(await listParts(logPath)).map(({ path }) => path).reverse(), logPath];
  return (await Promise.all(paths.map((path) => readFile(path, "latin1")))).join("");
}

/** Every number from 1 to `count`, in order, once. */
export function assertNumbers(text: string, count: number): void {
  let expected = 1;
  for (let at = 0; at < text.length; at += 100, expected++) {
    const number = Number(text.slice(at, at + 12));
    if (number !== expected || text[at + 99] !== "\n") {
      assert.fail(`line ${expected} is ${JSON.stringify(text.slice(at, at + 100))}`);
    }
  }
  assert.equal(expected - 1, count);
}
