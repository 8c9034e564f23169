/**
 * The files of one log. Joined from the highest number down to `app.log` they are the stream that the app wrote; a part may
 * begin and end in the middle of a line.
 *
 *   app.log                what the app appends to
 *   app.log.1, .2, …       parts that were rotated out, newest first
 *   .app.log.rotation      how many bytes were rotated out so far, see log-state.ts
 *   .app.log.incoming      a part that is being copied, see log-rotation.ts
 */
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface Part {
  number: number;
  path: string;
  size: number;
}

export const statePath = (logPath: string) => join(dirname(logPath), `.${basename(logPath)}.rotation`);
export const incomingPath = (logPath: string) => join(dirname(logPath), `.${basename(logPath)}.incoming`);
const partPath = (logPath: string, number: number) => `${logPath}.${number}`;

/** The parts that there are, newest first. */
export async function listParts(logPath: string): Promise<Part[]> {
  const prefix = `${basename(logPath)}.`;
  const names = (await readdir(dirname(logPath))).filter((name) => name.startsWith(prefix));
  const numbers = names.map((name) => name.slice(prefix.length)).filter((end) => /^[1-9]\d{0,5}$/.test(end))
    .map(Number);
  const parts = await Promise.all(numbers.sort((a, b) => a - b).map((number) => readPart(logPath, number)));
  return parts.filter((part) => part !== undefined);
}

/** Makes a file the newest part; the others move up by one, as far as the first gap that a crash may have left. */
export async function addPart(logPath: string, file: string): Promise<void> {
  const taken = new Set((await listParts(logPath)).map(({ number }) => number));
  let free = 1;
  while (taken.has(free)) free++;
  for (let number = free; number > 1; number--) {
    await rename(partPath(logPath, number - 1), partPath(logPath, number));
  }
  await rename(file, partPath(logPath, 1));
}

/** Removes the oldest parts until no more than so many, and so many bytes, are left. */
export async function trimParts(
  logPath: string,
  { count, bytes }: { count: number; bytes: number },
): Promise<void> {
  let sum = 0;
  for (const [i, { path, size }] of (await listParts(logPath)).entries()) {
    sum += size;
    if (i >= count || (i > 0 && sum > bytes)) await rm(path, { force: true });
  }
}

/** Removes the oldest part, to make room; false where there is none. */
export async function dropOldestPart(logPath: string): Promise<boolean> {
  const oldest = (await listParts(logPath)).at(-1);
  if (oldest) await rm(oldest.path);
  return oldest !== undefined;
}

/** What is not a regular file was not put there by a rotation, and is left out. */
async function readPart(logPath: string, number: number): Promise<Part | undefined> {
  const path = partPath(logPath, number);
  const info = await lstat(path).catch(() => undefined);
  return info?.isFile() ? { number, path, size: info.size } : undefined;
}
