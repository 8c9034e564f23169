/**
 * A log as one stream of bytes, whichever files hold it at the moment. Rotations do not change positions in it.
 *
 * Readers and rotations need no lock and may be different processes: see rotation-state.ts.
 */
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { listParts } from "./log-parts.ts";
import { openStateToRead, readState, type RotationState } from "./rotation-state.ts";

export interface LogStream {
  /** Returns the positions of the oldest byte that remains and of the end. Undefined when the log is gone. */
  bounds(): Promise<{ start: number; end: number } | undefined>;
  /**
   * Returns up to `length` bytes from the position on; none at the end. If that position was removed, it reads from the oldest byte
   * that remains, or from the start of a log that was truncated. Undefined when the log is gone or was replaced.
   */
  read(position: number, length: number): Promise<{ position: number; bytes: Uint8Array } | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LogStreamOptions {
  /** How long to wait for the end of a cut: its agent may have been killed. */
  cutTimeoutMs?: number;
  read?: typeof readState;
}

const retryMs = { first: 5, longest: 100 };
/** Files that are still missing after this many reads are gone for good. */
const missingTries = 8;

/** Opens a log; undefined if there is none. */
export async function openLogStream(
  logPath: string,
  { cutTimeoutMs = 30_000, read = readState }: LogStreamOptions = {},
): Promise<LogStream | undefined> {
  const log = await open(logPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error) => {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    },
  );
  if (!log) return undefined;
  const { ino } = await log.stat();
  let stateFile: Promise<FileHandle | undefined> = Promise.resolve(undefined);
  let stuckAt: number | undefined;

  async function currentState(): Promise<RotationState> {
    stateFile = stateFile.then((file) => file ?? openStateToRead(logPath));
    const file = await stateFile;
    return file ? await read(file) ?? { seq: -1, base: 0 } : { seq: 0, base: 0 };
  }
  async function awaitCut(): Promise<RotationState> {
    const deadline = Date.now() + cutTimeoutMs;
    for (let waitMs = retryMs.first;; waitMs = Math.min(2 * waitMs, retryMs.longest)) {
      const state = await currentState();
      if ((!state.cutting && state.seq >= 0) || state.seq === stuckAt) return state;
      if (Date.now() > deadline) stuckAt = state.seq;
      await sleep(waitMs);
    }
  }
  /** Runs `use` again until no cut interfered. Undefined when the log is gone. */
  async function withoutCut<T>(use: (base: number) => Promise<T>): Promise<T | undefined> {
    for (let missing = 0; missing < missingTries;) {
      const { seq, base } = await awaitCut();
      const result = await use(base).catch((error) => error as Error);
      if ((await currentState()).seq !== seq) continue;
      if (!(result instanceof Error)) return result;
      if (errorCode(result) !== "ENOENT") throw result;
      // A part was removed to free space on a full disk, or the folder of the log was removed.
      await sleep(Math.min(retryMs.first * 2 ** missing++, retryMs.longest));
    }
    return undefined;
  }
  return {
    bounds: () =>
      withoutCut(async (base) => {
        const [parts, { size }] = await Promise.all([listParts(logPath), log.stat()]);
        return { start: base - parts.reduce((sum, part) => sum + part.size, 0), end: base + size };
      }),
    read: (position, length) =>
      withoutCut(async (base) => {
        const now = await stat(logPath).catch(() => undefined);
        if (now?.ino !== ino) return undefined;
        if (position < base) {
          return await readParts(logPath, base, position, length) ?? readAt(log, base, base, length);
        }
        return await readAt(log, base, position > base + now.size ? base : position, length);
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all([log.close(), (await stateFile)?.close()]);
    },
  };
}

async function readParts(logPath: string, base: number, position: number, length: number) {
  const parts = await listParts(logPath);
  let start = base - parts.reduce((sum, part) => sum + part.size, 0);
  const wanted = Math.max(position, start);
  for (const { path, size } of parts.reverse()) {
    if (wanted < start + size) {
      await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
      return await readAt(file, start, wanted, Math.min(length, start + size - wanted));
    }
    start += size;
  }
  return undefined;
}

/** Reads from a file whose first byte is at `start` of the stream. */
async function readAt(file: FileHandle, start: number, position: number, length: number) {
  if (length === 0) return { position, bytes: new Uint8Array() };
  const { buffer, bytesRead } = await file.read(new Uint8Array(Math.min(length, 262_144)), {
    position: position - start,
  });
  return { position, bytes: buffer.subarray(0, bytesRead) };
}
