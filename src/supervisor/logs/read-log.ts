/**
 * Reads the log of an app, across its parts: its last lines, all of it, the lines since a time, those of the previous run, or what the
 * app writes next. The options combine as those of `kubectl logs`.
 *
 * Guarantees: a rotation makes a reader neither lose nor repeat a line. If a slow reader's next bytes were removed, it continues with
 * the oldest that remain. A read starts with a whole line, and ends with its signal.
 * Files stay open until the iteration ends: a caller that stops early must call return(), as `for await` does.
 */
import { Buffer } from "node:buffer";
import { dirname } from "node:path";
import { inQueue, isRemoteFileSystem } from "../../lib/deadlines/deadlines.ts";
import { createLineStamps } from "./line-stamps.ts";
import { firstLine, lastLines, nextLine, readRange } from "./log-lines.ts";
import { type LogBounds, type LogPiece, type LogRun, type LogStream, openLogStream } from "./log-stream.ts";
import { createWaiter, type WaiterOptions } from "./log-waiter.ts";

export interface ReadLogOptions {
  /** The number of lines to start with, counted from the end; all lines if absent. */
  tailLines?: number;
  /** Continue at the end, until `signal` aborts or the log is removed. */
  follow?: boolean;
  /** When it aborts, a follower reads what is there at that moment, and ends: the app has written its last line before that. */
  until?: AbortSignal;
  /** Start with the first line that was written at this time or later. */
  sinceTime?: Date;
  /** Read only the run before the current or last one, and never follow; nothing if there was none. */
  previous?: boolean;
  /** Read only this run, and never follow; nothing if nothing of it is left. */
  run?: LogRun;
  /** Put the time in front of each line. */
  timestamps?: boolean;
  /** End after this many bytes, even within a line. Times count. */
  limitBytes?: number;
  signal?: AbortSignal;
  waiting?: WaiterOptions;
}

const readBytes = 262_144;
/** How often a reader looks again whose lines were removed before it could read them. */
const maxMissed = 5;

/** Yields the log in `logFolder`; nothing if there is none. */
export async function* readLog(
  logFolder: string,
  options: ReadLogOptions = {},
  { now = Date.now } = {},
): AsyncGenerator<Uint8Array> {
  const { timestamps = false, limitBytes = Infinity, signal } = options;
  await using log = await openLogStream(logFolder, signal);
  if (!log) return;
  const stamp = timestamps ? createLineStamps(now) : undefined;
  let left = limitBytes;
  if (left === 0) return;
  for await (const piece of readPieces(log, logFolder, options)) {
    const text = stamp ? stamp(piece, await log.samplesOf(piece)) : piece.bytes;
    yield text.length > left ? text.subarray(0, left) : text;
    left -= text.length;
    if (left <= 0) return;
  }
}

/** Reports whether the log still has something of a run before the current or last one. */
export async function hasPreviousRun(logFolder: string): Promise<boolean> {
  await using log = await openLogStream(logFolder);
  return await log?.previousRun() !== undefined;
}

/** Reports whether the log still has what a run wrote, if it wrote anything. */
export async function hasRun(logFolder: string, run: LogRun): Promise<boolean> {
  await using log = await openLogStream(logFolder);
  return await log?.runAt(run) !== undefined;
}

/**
 * Returns the last lines as text, for a status; with `lastRun` only those of the last run. A last line longer than `maxBytes` is cut at
 * its start.
 */
export async function readTail(
  logFolder: string,
  { tailLines = 10, maxBytes = 2048, lastRun = false } = {},
): Promise<string> {
  await using log = await openLogStream(logFolder);
  const bounds = await log?.bounds();
  if (!log || !bounds) return "";
  const { start, end } = bounds;
  const furthest = Math.max(start, end - maxBytes);
  const runStart = lastRun ? await log.lastRun(furthest) : undefined;
  const first = runStart ?? furthest;
  const found = await lastLines(log, first, end, tailLines);
  // A run starts with a line of its own.
  const from = found > first || runStart !== undefined ? found : await firstLine(log, first, end);
  return Buffer.from(await readRange(log, from, end)).toString("utf8").replace(/\r?\n$/, "");
}

/** Yields what the options choose of a log. */
async function* readPieces(
  log: LogStream,
  logFolder: string,
  options: ReadLogOptions,
): AsyncGenerator<LogPiece> {
  const { previous = false, run, until, waiting } = options;
  const { signal = new AbortController().signal } = options;
  const follow = options.follow === true && !previous && !run;
  const canWatch = follow && !(await inQueue(dirname(logFolder), () => isRemoteFileSystem(logFolder)));
  using waiter = createWaiter(logFolder, { canWatch, ...waiting });
  const bounds = await log.bounds();
  let range = bounds && await chooseRange(log, bounds, options);
  if (!range) return;
  const wake = AbortSignal.any(until ? [signal, until] : [signal]);
  let { position } = range;
  let end = follow ? Infinity : range.end;
  let missed = 0;
  while (!signal.aborted && position < end) {
    const piece = await log.read(position, Math.min(readBytes, end - position));
    if (!piece) return;
    if (end === Infinity && until?.aborted) {
      end = (await log.bounds())?.end ?? position;
      // It may have been aborted after the read.
      continue;
    }
    if (piece.position >= end && position === range.position && ++missed < maxMissed) {
      // All that was chosen has been removed meanwhile.
      const newest = await log.bounds();
      range = newest && await chooseRange(log, newest, options);
      if (!range) return;
      ({ position, end } = range);
      continue;
    }
    // Older bytes may have been removed meanwhile: then the piece starts later than asked for.
    const bytes = piece.bytes.subarray(0, Math.max(0, end - piece.position));
    position = piece.position + bytes.length;
    if (bytes.length > 0) {
      waiter.gotData();
      yield { position: piece.position, bytes };
    } else if (end === Infinity) {
      await waiter.wait(wake);
    } else {
      return;
    }
  }
}

/** Returns where to start and, without follow, where to end; undefined if there is nothing to read. */
async function chooseRange(
  log: LogStream,
  bounds: LogBounds,
  { tailLines, sinceTime, previous = false, run: chosen }: ReadLogOptions,
): Promise<{ position: number; end: number } | undefined> {
  const run = previous ? await log.previousRun() : chosen && await log.runAt(chosen);
  if ((previous || chosen) && !run) return undefined;
  const end = Math.min(bounds.end, run?.end ?? Infinity);
  const start = Math.max(bounds.start, run?.start ?? -Infinity);
  const found = tailLines === undefined ? start : await lastLines(log, start, end, tailLines);
  // A run starts with a line of its own, even if the one before it did not finish its last.
  const tail = found > start || start === run?.start ? found : await firstLine(log, start, end);
  if (sinceTime === undefined) return { position: tail, end };
  const { position, isStart } = await log.since(sinceTime.getTime());
  if (position <= tail) return { position: tail, end };
  return { position: isStart ? position : await nextLine(log, position, end), end };
}
