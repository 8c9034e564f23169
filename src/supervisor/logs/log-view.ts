/**
 * A log as one stream of bytes, whatever files it is in at the moment. A position in it stays the same over rotations.
 *
 * Reads and rotations need no lock between them, nor the same process: see log-state.ts.
 */
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { listParts } from "./parts.ts";
import { openStateToRead, readState, type RotationState } from "./log-state.ts";

export interface LogView {
  /** From the oldest byte that is still there to the end. */
  bounds(): Promise<{ start: number; end: number }>;
  /**
   * Up to `length` bytes from the position on; none at the end. The position is another one where that is gone: the oldest
   * that is there, or the start of a log that somebody emptied. Undefined when the log itself is gone or was replaced.
   */
  read(position: number, length: number): Promise<{ position: number; bytes: Uint8Array } | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LogViewOptions {
  /** How long a cut may take before a reader goes on without its end, since its agent was killed in the middle. */
  patienceMs?: number;
  read?: typeof readState;
}

const retryMs = { first: 5, longest: 100 };

/** Opens a log; undefined where there is none. */
export async function openLogView(
  logPath: string,
  { patienceMs = 30_000, read = readState }: LogViewOptions = {},
): Promise<LogView | undefined> {
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

  async function look(): Promise<RotationState> {
    stateFile = stateFile.then((file) => file ?? openStateToRead(logPath));
    const file = await stateFile;
    return file ? await read(file) ?? { seq: -1, base: 0 } : { seq: 0, base: 0 };
  }
  async function awaitCut(): Promise<RotationState> {
    const giveUpAt = Date.now() + patienceMs;
    for (let waitMs = retryMs.first;; waitMs = Math.min(2 * waitMs, retryMs.longest)) {
      const state = await look();
      if ((!state.cutting && state.seq >= 0) || state.seq === stuckAt) return state;
      if (Date.now() > giveUpAt) stuckAt = state.seq;
      await sleep(waitMs);
    }
  }
  /** Runs `use` until no cut came in between. */
  async function steadily<T>(use: (base: number) => Promise<T>): Promise<T> {
    for (;;) {
      const { seq, base } = await awaitCut();
      const result = await use(base).catch((error) => error as Error);
      if ((await look()).seq !== seq) continue;
      // A part was removed to make room on a full disk.
      if (result instanceof Error && errorCode(result) === "ENOENT") continue;
      if (result instanceof Error) throw result;
      return result;
    }
  }
  return {
    bounds: () =>
      steadily(async (base) => {
        const [parts, { size }] = await Promise.all([listParts(logPath), log.stat()]);
        return { start: base - parts.reduce((sum, part) => sum + part.size, 0), end: base + size };
      }),
    read: (position, length) =>
      steadily(async (base) => {
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

/** Reads a file whose first byte is at `start` of the stream. */
async function readAt(file: FileHandle, start: number, position: number, length: number) {
  if (length === 0) return { position, bytes: new Uint8Array() };
  const { buffer, bytesRead } = await file.read(new Uint8Array(Math.min(length, 262_144)), {
    position: position - start,
  });
  return { position, bytes: buffer.subarray(0, bytesRead) };
}
