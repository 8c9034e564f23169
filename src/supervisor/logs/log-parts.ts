/**
 * The files of one log. Joined from the highest number down to `app.log`, they are the stream that the app wrote. A part may
 * start and end in the middle of a line.
 *
 *   app.log                the file that the app appends to
 *   app.log.1, .2, …       rotated parts, newest first
 *   .app.log.rotation      the number of bytes rotated out so far, see rotation-state.ts
 *   app.times              when it had which length, see ../log-times.ts
 *   .app.log.incoming      the part that is being copied, see cut.ts
 */
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface Part {
  number: number;
  path: string;
  size: number;
  mtimeMs: number;
}

export const statePath = (logPath: string) => join(dirname(logPath), `.${basename(logPath)}.rotation`);
export const timesPath = (logPath: string) => join(dirname(logPath), "app.times");
export const incomingPath = (logPath: string) => join(dirname(logPath), `.${basename(logPath)}.incoming`);
const partPath = (logPath: string, number: number) => `${logPath}.${number}`;

/** Lists the parts, newest first. */
export async function listParts(logPath: string): Promise<Part[]> {
  const prefix = `${basename(logPath)}.`;
  const names = (await readdir(dirname(logPath))).filter((name) => name.startsWith(prefix));
  const numbers = names.map((name) => name.slice(prefix.length)).filter((end) => /^[1-9]\d{0,5}$/.test(end))
    .map(Number);
  const parts = await Promise.all(numbers.sort((a, b) => a - b).map((number) => readPart(logPath, number)));
  return parts.filter((part) => part !== undefined);
}

/** Makes `file` the newest part. The others move up by one, as far as the first gap that a crash may have left. */
export async function addPart(logPath: string, file: string): Promise<void> {
  const taken = new Set((await listParts(logPath)).map(({ number }) => number));
  let free = 1;
  while (taken.has(free)) free++;
  for (let number = free; number > 1; number--) {
    await rename(partPath(logPath, number - 1), partPath(logPath, number));
  }
  await rename(file, partPath(logPath, 1));
}

/** Removes the oldest parts until at most `count` parts with `bytes` bytes remain. */
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

/** Removes the oldest part, to free space; false if there is none. */
export async function dropOldestPart(logPath: string): Promise<boolean> {
  const oldest = (await listParts(logPath)).at(-1);
  if (oldest) await rm(oldest.path);
  return oldest !== undefined;
}

/** Undefined for anything but a regular file: a rotation creates nothing else. */
async function readPart(logPath: string, number: number): Promise<Part | undefined> {
  const path = partPath(logPath, number);
  const info = await lstat(path).catch(() => undefined);
  return info?.isFile() ? { number, path, size: info.size, mtimeMs: info.mtimeMs } : undefined;
}
