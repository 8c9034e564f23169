/**
 * Files that survive a crash: a reader sees the old content or the new, never half.
 * No symlink is followed at the last step of a path, so that a planted link cannot redirect a write.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import { constants, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import process from "node:process";
import { basename, dirname, join } from "node:path";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY, O_DIRECTORY } = constants;

let counter = 0;

/** Writes beside the target, fsyncs, renames over it, fsyncs the folder. */
export async function writeFileAtomic(path: string, content: string, { mode = 0o600 } = {}): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.${counter++}.tmp`);
  try {
    await writeNew(temporary, content, { mode, durable: true });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw new Error(`cannot write ${path}: ${errorCode(cause)}`, { cause });
  }
  await syncFolder(dirname(path));
}

/** Creates a file that must not exist yet; `durable` brings it to the disk before it returns. */
export async function writeNew(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, durable = false } = {},
) {
  await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  // A umask takes from others, so that what is the owner's alone has its mode already.
  if ((mode & 0o077) !== 0) await file.chmod(mode);
  await file.writeFile(content);
  if (durable) await file.sync();
}

/** The text of a regular file, or undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    return await file.readFile("utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The same in one go: for small files of our own, which are in memory. The way over a thread would cost ten times as much. */
export function readNowIfThere(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW);
    return readFileSync(fd, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Makes a folder, private by default, and refuses one that is a link or not a folder. */
export async function ensureFolder(path: string, { mode = 0o700 } = {}): Promise<void> {
  await mkdir(path, { recursive: true, mode });
  const stat = await lstat(path);
  if (!stat.isDirectory()) throw new Error(`cannot use ${path}: not a folder`);
}

/** The errno name of a file system error, else its message. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : String((error as Error)?.message ?? error);
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, O_RDONLY | O_DIRECTORY);
  await folder.sync();
}
