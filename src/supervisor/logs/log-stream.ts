/**
 * A log as one stream of bytes, whichever files hold it at the moment. Rotations do not change positions in it.
 *
 * Readers and rotations need no lock and may be different processes: see rotation-state.ts.
 * All reads are in the lane of the log folder, which may be on a mount that hangs: then they throw a FileTimeoutError.
 */
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { closeInLane, inLane, openInLane } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { listParts, type Part } from "./log-parts.ts";
import { openStateToRead, readState, type RotationState } from "./rotation-state.ts";

export interface LogStream {
  /** Undefined when the log is gone. */
  bounds(): Promise<LogBounds | undefined>;
  /**
   * Returns up to `length` bytes from the position on; none at the end. If that position was removed, it reads from the oldest byte
   * that remains, or from the start of a log that was truncated. Undefined when the log is gone or was replaced.
   */
  read(position: number, length: number): Promise<LogPiece | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LogBounds {
  /** The position of the oldest byte that remains. */
  start: number;
  end: number;
  /** The position of the first byte of `app.log`. */
  base: number;
  /** Where each file ends and when it was last changed, oldest first. */
  files: { offset: number; time: number }[];
}

export interface LogPiece {
  position: number;
  bytes: Uint8Array;
  /** When `app.log` was last changed, before the read. */
  mtimeMs: number;
}

export interface LogStreamOptions {
  /** How long to wait for the end of a cut: its agent may have been killed. */
  cutTimeoutMs?: number;
  /** Ends waits and retries: from then on every result is undefined, as for a log that is gone. */
  signal?: AbortSignal;
  read?: typeof readState;
}

const retryMs = { first: 5, longest: 100 };
/** Files that are still missing after this many reads are gone for good. */
const missingTries = 8;

/** Opens a log; undefined if there is none. */
export async function openLogStream(
  logPath: string,
  { cutTimeoutMs = 30_000, signal, read = readState }: LogStreamOptions = {},
): Promise<LogStream | undefined> {
  const logs = dirname(dirname(logPath));
  const reading = <T>(operation: () => Promise<T>) => inLane(logs, operation, { path: logPath });
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const log = await openInLane(logs, logPath, flags).catch((error) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (!log) return undefined;
  const { ino } = await reading(() => log.stat()).catch(async (error) => {
    await closeInLane(logs, log);
    throw error;
  });
  let stateFile: Promise<FileHandle | undefined> = Promise.resolve(undefined);
  let stuckAt: number | undefined;

  async function currentState(): Promise<RotationState> {
    stateFile = stateFile.then((file) => file ?? openStateToRead(logs, logPath));
    const file = await stateFile;
    return file ? await reading(() => read(file)) ?? { seq: -1, base: 0 } : { seq: 0, base: 0 };
  }
  async function awaitCut(): Promise<RotationState> {
    const deadline = Date.now() + cutTimeoutMs;
    for (let waitMs = retryMs.first;; waitMs = Math.min(2 * waitMs, retryMs.longest)) {
      const state = await currentState();
      if ((!state.cutting && state.seq >= 0) || state.seq === stuckAt || signal?.aborted) return state;
      if (Date.now() > deadline) stuckAt = state.seq;
      await sleep(waitMs, signal);
    }
  }
  /** Runs `use` again until no cut interfered. Undefined when the log is gone or the signal has aborted. */
  async function withoutCut<T>(use: (base: number) => Promise<T>): Promise<T | undefined> {
    for (let missing = 0; missing < missingTries;) {
      const { seq, base } = await awaitCut();
      if (signal?.aborted) return undefined;
      const result = await use(base).catch((error) => error as Error);
      if ((await currentState()).seq !== seq) continue;
      if (!(result instanceof Error)) return result;
      if (errorCode(result) !== "ENOENT") throw result;
      // A part was removed to free space on a full disk, or the folder of the log was removed.
      await sleep(Math.min(retryMs.first * 2 ** missing++, retryMs.longest), signal);
    }
    return undefined;
  }
  return {
    bounds: () =>
      withoutCut(async (base) => {
        const parts = await reading(() => listParts(logPath));
        const { size, mtimeMs } = await reading(() => log.stat());
        const start = startOf(parts, base);
        let offset = start;
        const files = [...parts.reverse(), { size, mtimeMs }]
          .map((file) => ({ offset: offset += file.size, time: Math.ceil(file.mtimeMs) }));
        return { start, end: base + size, base, files };
      }),
    read: (position, length) =>
      withoutCut((base) =>
        reading(async () => {
          const now = await stat(logPath).catch(() => undefined);
          if (now?.ino !== ino) return undefined;
          const from = position > base + now.size ? base : position;
          const piece = from < base ? await readParts(logPath, base, from, length) : undefined;
          return { mtimeMs: now.mtimeMs, ...piece ?? await readAt(log, base, Math.max(base, from), length) };
        })
      ),
    async [Symbol.asyncDispose]() {
      const state = await stateFile;
      await Promise.all([log, ...state ? [state] : []].map((file) => closeInLane(logs, file)));
    },
  };
}

function startOf(parts: Part[], base: number): number {
  return base - parts.reduce((sum, part) => sum + part.size, 0);
}

async function readParts(logPath: string, base: number, position: number, length: number) {
  const parts = await listParts(logPath);
  let start = startOf(parts, base);
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
