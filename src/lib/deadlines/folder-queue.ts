/**
 * Queues for folders that may be on a hung mount. Guarantees: a folder occupies at most one thread, and every call ends in time: while
 * an operation is overdue, others in that folder fail at once.
 *
 * Caveat: an overdue operation continues when the mount answers again, though its caller has given up. It must release what it opens.
 */
import { type FileHandle, open, statfs } from "node:fs/promises";
import { orAborted } from "../sleep.ts";
import { FileTimeoutError, fileTimeoutMs } from "./file-timeout.ts";

interface FolderQueue {
  /** Settles when the operations so far are done or overdue. */
  last: Promise<unknown>;
  /** Settles when the overdue operation is done. */
  overdue?: Promise<unknown>;
}

const queues = new Map<string, FolderQueue>();

export interface QueueOptions {
  /** The path for messages, if it is not the folder. */
  path?: string;
  timeoutMs?: number;
  /** Ends the wait, not the operation. */
  signal?: AbortSignal;
}

/** Runs an operation on files in this folder after the earlier ones; throws a FileTimeoutError when it takes too long. */
export function inQueue<T>(
  folder: string,
  operation: () => Promise<T>,
  options: QueueOptions = {},
): Promise<T> {
  const queue: FolderQueue = queues.get(folder) ?? { last: Promise.resolve() };
  queues.set(folder, queue);
  const result = queue.last.then(() => perform(queue, operation, { path: folder, ...options }));
  queue.last = result.catch(() => {});
  return options.signal ? orAborted(result, options.signal) : result;
}

/** While an operation in this folder is overdue, a promise that settles when it is done. */
export function whenItAnswers(folder: string): Promise<unknown> | undefined {
  return queues.get(folder)?.overdue;
}

/** Reports whether an operation in this folder is overdue. */
export function isHung(folder: string): boolean {
  return whenItAnswers(folder) !== undefined;
}

async function perform<T>(
  queue: FolderQueue,
  operation: () => Promise<T>,
  { path = "", timeoutMs = fileTimeoutMs }: QueueOptions,
): Promise<T> {
  if (queue.overdue) throw new FileTimeoutError(path, timeoutMs);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    queue.overdue = work.catch(() => {});
    reject(new FileTimeoutError(path, timeoutMs));
  }, timeoutMs);
  // The operation keeps the process alive.
  timer.unref();
  const work = operation().finally(() => {
    clearTimeout(timer);
    queue.overdue = undefined;
  });
  return await Promise.race([work, late]);
}

/** Opens a file in this folder. One that is opened too late is closed again. */
export async function openInQueue(folder: string, path: string, flags: number): Promise<FileHandle> {
  let late = false;
  const opening = async () => {
    const file = await open(path, flags);
    if (late) await file.close();
    return file;
  };
  try {
    return await inQueue(folder, opening, { path });
  } catch (error) {
    late = true;
    throw error;
  }
}

/** Closes a file in this folder: even that may block. If the folder hangs, the file is closed when it answers. */
export async function closeInQueue(folder: string, file: FileHandle): Promise<void> {
  let started = false;
  const closing = () => {
    started = true;
    return file.close();
  };
  await inQueue(folder, closing).catch((error) => {
    if (!(error instanceof FileTimeoutError)) throw error;
    if (!started) void queues.get(folder)?.overdue?.then(() => closeInQueue(folder, file)).catch(() => {});
  });
}

/**
 * File systems of other machines and of programs, by their magic numbers of statfs(2). The kernel sees no changes that others make
 * there, so a watch gains little, and `fs.watch` blocks the event loop while they hang.
 */
const remote = new Set([
  0x0187, // autofs
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x65735546, // FUSE: sshfs, s3fs, GlusterFS, virtiofs
  0x01021997, // 9P
  0x00c36400, // Ceph
  0x5346414f, // AFS
  0x6b414653, // AFS of the kernel
  0x0bd00bd0, // Lustre
  0x47504653, // GPFS
]);

/** Reports whether a folder exists and is on a remote file system. Call it in the queue of the folder. */
export async function isRemoteFileSystem(folder: string): Promise<boolean> {
  const info = await statfs(folder).catch(() => undefined);
  return info !== undefined && remote.has(info.type >>> 0);
}
