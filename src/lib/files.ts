/**
 * Files that survive a crash: a reader sees the old content or the new, never a part of it.
 * A symlink as the last component of a path is not followed, so that a planted link cannot redirect a write.
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { constants, lstat, mkdir, open, readlink, rename, rm } from "node:fs/promises";
import process from "node:process";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY, O_DIRECTORY } = constants;

/** Without FileHandles, which cost more than the operations on a small file. */
const [openFile, closeFile, syncFile] = [promisify(fs.open), promisify(fs.close), promisify(fs.fsync)];
const writePart = promisify(fs.write) as (
  file: number,
  bytes: Uint8Array,
) => Promise<{ bytesWritten: number }>;

let counter = 0;

/**
 * Replaces a file: writes a temporary one beside it, fsyncs, renames, fsyncs the folder. If not `durable`, the folder is left to the
 * kernel: after a power cut, the file may be as it was before.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, durable = true } = {},
): Promise<void> {
  const temporary = temporaryFor(path);
  try {
    await writeNew(temporary, content, { mode, durable: true });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cannotWrite(path, cause);
  }
  if (durable) await syncFolder(dirname(path));
}

function temporaryFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${counter++}.tmp`);
}

function cannotWrite(path: string, cause: unknown): Error {
  return new Error(`cannot write ${path}: ${explainFileError(cause)}`, { cause });
}

/** Creates a file that must not exist yet; `durable` fsyncs it before the function returns. */
export async function writeNew(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, durable = false } = {},
) {
  const file = await openFile(path, newFile, mode);
  try {
    // The umask clears bits of group and others only; a mode of the owner alone is set already.
    if ((mode & 0o077) !== 0) await promisify(fs.fchmod)(file, mode);
    for (let rest = bytesOf(content); rest.length > 0;) {
      rest = rest.subarray((await writePart(file, rest)).bytesWritten);
    }
    if (durable) await syncFile(file);
  } finally {
    await closeFile(file);
  }
}

/**
 * Creates a small file that must not exist yet, for the owner alone. Synchronous: it goes to the page cache, and the thread pool
 * would cost five times as much. Only for the agent's own folders, which are on a local disk.
 */
export function writeNewSync(path: string, content: string): void {
  try {
    const file = openSync(path, newFile, 0o600);
    try {
      for (let rest = bytesOf(content); rest.length > 0;) rest = rest.subarray(writeSync(file, rest));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/** Like `writeFileAtomic`, but with the reasons and limits of `writeNewSync`: after a power cut, the file may be empty or missing. */
export function replaceSync(path: string, content: string): void {
  const temporary = temporaryFor(path);
  try {
    writeNewSync(temporary, content);
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    return await file.readFile("utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Like `readIfExists`, but synchronous: for small files in the page cache, where the thread pool would cost ten times as much. */
export function readIfExistsSync(path: string): string | undefined {
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

/** Creates a folder, private by default; returns whether it is certainly new. Throws if the path is a symlink or not a folder. */
export async function ensureFolder(path: string, { mode = 0o700 } = {}): Promise<boolean> {
  // Checked first: on Deno, mkdir would block the event loop while a mount hangs.
  const stat = await lstat(path).catch(async (error) => {
    if (errorCode(error) !== "ENOENT") throw error;
    return await makeFolders(path, mode) ? undefined : await lstat(path);
  });
  if (stat && !stat.isDirectory()) {
    throw Object.assign(new Error(`cannot use ${path}: not a folder`), { code: "ENOTDIR" });
  }
  return stat === undefined;
}

/**
 * Creates a folder and those above it that are missing; returns whether it is new. Not by the `recursive` of Node's mkdir: in /proc,
 * where nothing can be created, that tries forever, and it reports a read-only file system as a missing file.
 */
async function makeFolders(path: string, mode: number): Promise<boolean> {
  try {
    return await makeFolder(path, mode);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
  }
  await makeFolders(dirname(path), mode);
  return await makeFolder(path, mode).catch((error) => {
    if (errorCode(error) !== "ENOENT") throw error;
    // The folders above exist by now, unless a link leads nowhere: the kernel's own, such as /proc, take no other.
    throw Object.assign(new Error(`${path}: no folder can be created there`), { code: "ENOENT" });
  });
}

async function makeFolder(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    // What exists may also be a link or a file: the caller looks.
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Like `ensureFolder`, but synchronous, with the reasons and limits of `writeNewSync`. */
export function ensureFolderSync(path: string, { mode = 0o700 } = {}): boolean {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!stat) makeFoldersSync(path, mode);
  else if (!stat.isDirectory()) throw new Error(`cannot use ${path}: not a folder`);
  return stat === undefined;
}

function makeFoldersSync(path: string, mode: number): void {
  try {
    return makeFolderSync(path, mode);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
  }
  ensureFolderSync(dirname(path), { mode });
  makeFolderSync(path, mode);
}

/** Accepts a folder that another process has created at the same moment. */
function makeFolderSync(path: string, mode: number): void {
  try {
    fs.mkdirSync(path, { mode });
  } catch (error) {
    if (errorCode(error) !== "EEXIST" || !fs.lstatSync(path).isDirectory()) throw error;
  }
}

/** Says who beside root and this user can change what is in a folder; undefined for nobody. */
export function whoElseCanChange(
  { uid, mode }: { uid: number; mode: number },
  self: number = process.geteuid?.() ?? 0,
): string | undefined {
  if (uid !== 0 && uid !== self) return `it belongs to user ${uid}`;
  return (mode & 0o022) !== 0 ? "other users can write to it" : undefined;
}

/** Returns the errno name of a file system error, else its message. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : String((error as Error)?.message ?? error);
}

const fileErrors: Record<string, string | undefined> = {
  ENOENT: "no such file",
  EPERM: "not permitted, even for this user",
  EISDIR: "is a folder, not a file",
  ENOTDIR: "a part of the path is not a folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  ELOOP: "is a symbolic link, or links in a circle",
  EIO: "the disk has an error",
};

/** Returns what a file system error means, in words. */
export function explainFileError(error: unknown): string {
  const code = errorCode(error);
  // Network file systems may refuse root: sudo does not help there.
  if (code === "EACCES") {
    return `permission denied${process.geteuid?.() === 0 ? "" : ": try again as root (sudo)"}`;
  }
  return fileErrors[code] ?? `cannot be used: ${code}`;
}

/** Says what is wrong with a path that could not be opened: also which link leads nowhere. For paths that no other user can change. */
export async function explainPathError(path: string, error: unknown): Promise<string> {
  const target = errorCode(error) === "ENOENT" ? await readlink(path).catch(() => undefined) : undefined;
  return target === undefined ? explainFileError(error) : `is a link to ${target}, which does not exist`;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await openFile(path, O_RDONLY | O_DIRECTORY);
  try {
    await syncFile(folder);
  } finally {
    await closeFile(folder);
  }
}

/** Returns 8 digits that distinguish a path from others of this machine. */
export function pathDigest(path: string): string {
  return createHash("sha256").update(resolve(path)).digest("hex").slice(0, 8);
}
