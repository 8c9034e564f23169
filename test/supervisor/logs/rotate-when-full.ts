/**
 * Fills the small ext4 that is mounted at the first argument with a log, and prints the results of rotations on the full disk as
 * JSON. Runs in its own mount namespace.
 */
import { Buffer } from "node:buffer";
import { appendFile, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";

const [folder = ""] = process.argv.slice(2);
const logPath = join(folder, "app.log");
const policy = { maxBytes: 2 ** 20, maxFiles: 5 };

const results = [];
for (let round = 0; round < 2; round++) {
  await fill(logPath);
  results.push(await rotateIfNeeded(logPath, policy));
  await appendFile(logPath, "the app goes on\n");
}
process.stdout.write(JSON.stringify({ results, files: (await readdir(folder)).sort() }));

async function fill(path: string): Promise<void> {
  await using log = await open(path, "a");
  const line = Buffer.alloc(64 * 1024, "y");
  await log.write(line);
  try {
    for (;;) await log.write(line);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  }
}
