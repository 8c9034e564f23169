/** Logs as launchers write them: read as files, or written by a test itself. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { appendFile, readFile, symlink, unlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "../../../src/lib/files.ts";
import { listParts } from "../../../src/supervisor/logs/logs.ts";

/** The part that a log starts with. */
export const firstPart = (logFolder: string) => join(logFolder, `app.log.${"0".repeat(16)}`);

/** The parts of a log, oldest first. If a launcher removes one meanwhile, all are read again. */
export async function listLog(logFolder: string): Promise<{ name: string; start: number; text: string }[]> {
  try {
    return await Promise.all((await listParts(logFolder)).map(async ({ path, start }) => {
      return { name: basename(path), start, text: await readFile(path, "latin1") };
    }));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return await listLog(logFolder);
    throw error;
  }
}

/** All that an app wrote, if nothing of it was removed: no byte may be missing or there twice. */
export async function readJoined(logFolder: string): Promise<string> {
  let text = "";
  for (const part of await listLog(logFolder)) {
    assert.equal(part.start, text.length, `${part.name} follows ${text.length} bytes`);
    text += part.text;
  }
  return Buffer.from(text, "latin1").toString();
}

/** As an agent tells launchers. */
export async function setLimits(logFolder: string, maxBytes: number, maxFiles: number): Promise<void> {
  await writeFile(join(logFolder, ".limits"), `${maxBytes} ${maxFiles}\n`);
}

/** Writes a log as a launcher does that rotates when the test says so. */
export function createLog(logFolder: string) {
  let [start, end] = [0, 0];
  const file = (kind: string) => join(logFolder, `app.${kind}.${String(start).padStart(16, "0")}`);
  const log = {
    folder: logFolder,
    /** Appends text; with a time also a sample. */
    async write(text: string, time?: number, { isStart = false } = {}): Promise<void> {
      if (time !== undefined) {
        const sample = Buffer.alloc(16);
        sample.writeBigUInt64LE(BigInt(time) | (isStart ? 1n << 63n : 0n), 0);
        sample.writeBigUInt64LE(BigInt(end), 8);
        await appendFile(file("times"), sample);
      }
      await appendFile(file("log"), text);
      end += Buffer.byteLength(text);
    },
    async rotate(): Promise<void> {
      start = end;
      await log.write("");
      await unlink(join(logFolder, "app.log")).catch(() => {});
      await symlink(basename(file("log")), join(logFolder, "app.log"));
    },
    /** Removes parts until `count` are left. */
    async trim(count: number): Promise<void> {
      for (const { path } of (await listParts(logFolder)).slice(0, -count)) await unlink(path);
    },
  };
  return log;
}

const lineBytes = 100;

/** A command that writes lines of 100 bytes, numbered from `first`. */
export function numberLines(count: number, first = 1): string {
  return `seq -f '%012.0f ${"x".repeat(lineBytes - 14)}' ${first} ${first + count - 1}`;
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
