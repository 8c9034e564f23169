/** Logs of numbered lines: a real process writes them at full speed, and the tests check for gaps and repeats. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { listParts } from "../../../src/supervisor/logs/log-parts.ts";

const lineBytes = 100;

/** Appends `count` lines of 100 bytes, as an app does whose launcher opened the log; resolves when all are written. */
export async function writeNumbers(logPath: string, count: number, first = 1): Promise<void> {
  const format = `%012.0f ${"x".repeat(lineBytes - 14)}`;
  const last = String(first + count - 1);
  const args = ["-c", 'seq -f "$1" "$2" "$3" >>"$0"', logPath, format, String(first), last];
  const [code] = await once(spawn("/bin/sh", args, { stdio: "ignore" }), "exit");
  assert.equal(code, 0);
}

/** The whole stream, from the oldest part to the log itself. */
export async function readJoined(logPath: string): Promise<string> {
  const paths = [...(await listParts(logPath)).map(({ path }) => path).reverse(), logPath];
  return (await Promise.all(paths.map((path) => readFile(path, "latin1")))).join("");
}

/** Every number from 1 to `count`, in order, once. */
export function assertNumbers(text: string, count: number): void {
  const numbers = createNumberCheck();
  numbers.add(Buffer.from(text, "latin1"));
  assert.equal(numbers.count(), count);
}

/** Checks pieces as they come: the lines must be numbered from 1 without gaps and repeats. */
export function createNumberCheck() {
  let rest = Buffer.alloc(0);
  let count = 0;
  return {
    /** Returns how many lines there were so far. */
    add(piece: Uint8Array): number {
      rest = Buffer.concat([rest, piece]);
      let at = 0;
      for (; at + lineBytes <= rest.length; at += lineBytes) {
        count++;
        const line = rest.toString("latin1", at, at + lineBytes);
        if (Number(line.slice(0, 12)) !== count || !line.endsWith("x\n")) {
          assert.fail(`line ${count} is ${JSON.stringify(line)}`);
        }
      }
      rest = rest.subarray(at);
      return count;
    },
    /** How many lines there were in all; nothing may be left over. */
    count(): number {
      assert.equal(rest.toString("latin1"), "");
      return count;
    },
  };
}
