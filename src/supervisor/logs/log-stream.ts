/**
 * A log as one stream of bytes, whichever files hold it. All reads are in the queue of the log folder, which may be on a mount that
 * hangs: then they throw a FileTimeoutError.
 */
import { constants, type FileHandle, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { closeInQueue, inQueue, openInQueue } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";
import { firstSample, lastTimeOf, type Sample, samplesBackward, samplesIn } from "./log-index.ts";
import { listParts, type Part } from "./log-parts.ts";

export interface LogStream {
  /** Undefined when the log is gone. */
  bounds(): Promise<LogBounds | undefined>;
  /**
   * Returns up to `length` bytes from the position on; none at the end. If that position was removed, it reads from the oldest byte
   * that remains. Undefined when the log is gone or was replaced.
   */
  read(position: number, length: number): Promise<LogPiece | undefined>;
  /** When the bytes of a piece were written; never empty. */
  samplesOf(piece: LogPiece): Promise<Sample[]>;
  /** Returns where the first bytes are that may have been written at this time or later; the end if there are none. */
  since(time: number): Promise<Pick<Sample, "position" | "isStart">>;
  /** Returns where the last run started to write, if that is after this position: the search goes no further. */
  lastRun(after: number): Promise<number | undefined>;
  /** Returns where a run wrote, and those that ran beside it; undefined if nothing of it is left. */
  runAt(run: LogRun): Promise<{ start: number; end: number } | undefined>;
  /** Returns where the run before the last one wrote; undefined if nothing of it is left. */
  previousRun(): Promise<{ start: number; end: number } | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LogBounds {
  /** The position of the oldest byte that remains. */
  start: number;
  end: number;
}

/** A run, as a status has it: in whole seconds. */
export interface LogRun {
  startedAt: Date;
  /** Undefined for a run that lives. */
  finishedAt?: Date;
  /** How many others started before it in the same second. */
  rank?: number;
}

/** Bytes of one part. */
export interface LogPiece {
  position: number;
  bytes: Uint8Array;
}

const maxPiece = 262_144;
/** A part that was removed since it was listed is found missing once or twice, not more often. */
const tries = 8;

/** Opens a log; undefined if there is none. Once the signal has aborted, every result is undefined, as for a log that is gone. */
export async function openLogStream(
  logFolder: string,
  signal?: AbortSignal,
): Promise<LogStream | undefined> {
  const logs = dirname(logFolder);
  const reading = <T>(operation: () => Promise<T>) => inQueue(logs, operation, { path: logFolder });
  const parts = () => reading(() => listParts(logFolder));
  const identity = () => reading(() => stat(logFolder).then(({ ino }) => ino, () => undefined));
  const folder = await identity();
  if (folder === undefined || (await parts()).length === 0) return undefined;

  let opened: { path: string; file: FileHandle } | undefined;
  const close = async () => {
    const { file } = opened ?? {};
    opened = undefined;
    if (file) await closeInQueue(logs, file);
  };
  async function open({ path }: Part): Promise<FileHandle> {
    if (opened?.path === path) return opened.file;
    await close();
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    opened = { path, file: await openInQueue(logs, path, flags) };
    return opened.file;
  }
  async function readFrom(position: number, length: number): Promise<LogPiece | undefined> {
    const all = await parts();
    const number = Math.max(0, all.findLastIndex(({ start }) => start <= position));
    const [part, next] = [all[number], all[number + 1]];
    // Somebody has removed them all: the app's next line starts another.
    if (!part) return { position, bytes: new Uint8Array() };
    const from = Math.max(position, part.start);
    const most = Math.min(length, maxPiece, (next?.start ?? Infinity) - from);
    const file = await open(part);
    const { buffer, bytesRead } = await reading(() =>
      file.read(new Uint8Array(most), { position: from - part.start })
    );
    if (bytesRead > 0 || length === 0) return { position: from, bytes: buffer.subarray(0, bytesRead) };
    if (next) return await readFrom(next.start, length);
    // Somebody may have removed the part, and its launcher created it again, or have emptied it.
    const [{ size, ino }, now] = await Promise.all([
      reading(() => file.stat()),
      reading(() => stat(part.path)),
    ]);
    if (now.ino !== ino) await close();
    if (now.ino !== ino || from > part.start + size) return await readFrom(part.start, length);
    return { position: from, bytes: new Uint8Array() };
  }
  /** The samples of parts, the newest first. */
  async function* samples(...newestFirst: Part[]): AsyncGenerator<Sample> {
    for (const part of newestFirst) {
      const blocks = samplesBackward(part);
      try {
        for (let next; !(next = await reading(() => blocks.next())).done;) yield* next.value;
      } finally {
        await reading(() => blocks.return(undefined));
      }
    }
  }

  return {
    async bounds() {
      const all = await parts();
      const last = all.at(-1);
      if (!last || await identity() !== folder) return undefined;
      const info = await reading(() => stat(last.path).catch(() => undefined));
      return { start: all[0]!.start, end: last.start + (info?.size ?? 0) };
    },
    async read(position, length) {
      for (let attempt = 1;; attempt++) {
        try {
          return !signal?.aborted && await identity() === folder
            ? await readFrom(position, length)
            : undefined;
        } catch (error) {
          if (errorCode(error) !== "ENOENT") throw error;
          if (attempt === tries) return undefined;
        }
      }
    },
    async samplesOf({ position, bytes }) {
      const part = (await parts()).findLast(({ start }) => start <= position);
      const found = part ? await reading(() => samplesIn(part, position, position + bytes.length)) : [];
      if (found[0] && found[0].position <= position) return found;
      // Its index is gone: the part was complete when it was last changed.
      const info = opened && await reading(() => opened!.file.stat());
      return [{ time: Math.floor(info?.mtimeMs ?? 0), position, isStart: false }, ...found];
    },
    async since(time) {
      let next: Sample | undefined;
      let since = { position: Infinity, isStart: false };
      for (const part of (await parts()).reverse()) {
        const first = await reading(() => firstSample(part));
        if (first && first.time < time) {
          for await (const sample of samples(part)) {
            if (lastTimeOf(sample, next) < time) break;
            next = sample;
            since = sample;
          }
          break;
        }
        next = first;
        since = { position: part.start, isStart: first?.isStart === true && first.position === part.start };
      }
      return since;
    },
    async lastRun(after) {
      for await (const { isStart, position } of samples(...(await parts()).toReversed())) {
        if (position <= after) return undefined;
        if (isStart) return position;
      }
    },
    async runAt({ startedAt, finishedAt, rank = 0 }) {
      const all = await parts();
      const second = startedAt.getTime();
      const later: Sample[] = [];
      let [before, oldest]: (Sample | undefined)[] = [];
      for await (const sample of samples(...all.toReversed())) {
        oldest = sample;
        if (!sample.isStart) continue;
        if (sample.time < second) before = sample;
        if (before) break;
        later.unshift(sample);
      }
      const same = later.filter(({ time }) => time < second + 1000);
      // Its launcher takes the sample a moment before the script starts, which may be in the second before.
      const own = same[rank] ?? same.at(-1) ?? before;
      const isNext = ({ time }: Sample) => time >= (finishedAt?.getTime() ?? Infinity);
      const end = later.slice(own ? later.indexOf(own) + 1 : 0).find(isNext)?.position ?? Infinity;
      // Without a sample of its own, its first lines were removed, and perhaps all.
      const start = own?.position ?? all[0]?.start;
      const isGone = !own && (oldest?.time ?? Infinity) >= (finishedAt?.getTime() ?? Infinity) + 1000;
      return !isGone && start !== undefined && start <= end ? { start, end } : undefined;
    },
    async previousRun() {
      const all = await parts();
      const starts: number[] = [];
      for await (const { isStart, position } of samples(...all.toReversed())) {
        if (isStart && starts.push(position) === 2) break;
      }
      const [end, start = all[0]?.start ?? 0] = starts;
      return end === undefined || (starts.length === 1 && end <= start) ? undefined : { start, end };
    },
    [Symbol.asyncDispose]: close,
  };
}
