/**
 * Reads the log of an app, across rotations: its last lines, all of it, or what the app writes next.
 *
 * Guarantees: a rotation makes a reader neither lose nor repeat a line. If a slow reader's next bytes were removed, it continues with
 * the oldest that remain. A read starts with a whole line.
 * Files stay open until the iteration ends: a caller that stops early must call return(), as `for await` does.
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { type LogStream, openLogStream } from "./log-stream.ts";
import { createWaiter, type WaiterOptions } from "./log-waiter.ts";

export interface ReadLogOptions {
  /** The number of lines to start with, counted from the end; all lines if absent. */
  tailLines?: number;
  /** Continue at the end, until `signal` aborts or the log is removed. */
  follow?: boolean;
  signal?: AbortSignal;
  waiting?: WaiterOptions;
}

const chunkBytes = 65_536;
const readBytes = 262_144;
const newline = 10;

/** Yields the log in `logFolder`; nothing if there is none. */
export async function* readLog(logFolder: string, options: ReadLogOptions = {}): AsyncGenerator<Uint8Array> {
  const { tailLines, follow = false, signal = new AbortController().signal, waiting } = options;
  await using log = await openLogStream(join(logFolder, "app.log"));
  if (!log) return;
  using waiter = createWaiter(logFolder, waiting);
  const bounds = await log.bounds();
  if (!bounds) return;
  const { start, end } = bounds;
  let position = tailLines === undefined
    ? await firstLine(log, start, end)
    : await lastLines(log, start, end, tailLines);
  while (!signal.aborted && (follow || position < end)) {
    const piece = await log.read(position, follow ? readBytes : Math.min(readBytes, end - position));
    if (!piece) return;
    position = piece.position + piece.bytes.length;
    if (piece.bytes.length > 0) {
      waiter.gotData();
      yield piece.bytes;
    } else if (follow) {
      await waiter.wait(signal);
    } else {
      return;
    }
  }
}

/** As readLog(), without an end. */
export function followLog(
  logFolder: string,
  options: Omit<ReadLogOptions, "follow"> & { signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  return readLog(logFolder, { ...options, follow: true });
}

/** Returns the last lines as text, for a status. A last line longer than `maxBytes` is cut at its start. */
export async function readTail(logFolder: string, { tailLines = 10, maxBytes = 2048 } = {}): Promise<string> {
  await using log = await openLogStream(join(logFolder, "app.log"));
  const bounds = await log?.bounds();
  if (!log || !bounds) return "";
  const { start, end } = bounds;
  const from = await lastLines(log, Math.max(start, end - maxBytes), end, tailLines);
  const text = Buffer.from(await readRange(log, from, end)).toString("utf8");
  return text.replace(/\r?\n$/, "");
}

/** Returns where the last `count` lines start, between `start` and `end`. An unfinished line at the end counts. */
async function lastLines(log: LogStream, start: number, end: number, count: number): Promise<number> {
  let missing = count;
  let position = end;
  while (missing > 0 && position > start) {
    const from = Math.max(start, position - chunkBytes);
    const bytes = await readRange(log, from, position);
    // The newline at the very end ends the last line; it does not start another.
    let i = position === end ? bytes.length - 1 : bytes.length;
    while (i > 0 && (i = bytes.lastIndexOf(newline, i - 1)) >= 0) {
      if (--missing === 0) return from + i + 1;
    }
    position = from;
  }
  return missing > 0 ? await firstLine(log, start, end) : end;
}

/** Returns where the first whole line starts: removed parts may leave half a line. Returns `start` if there is no whole line. */
async function firstLine(log: LogStream, start: number, end: number): Promise<number> {
  if (start === 0) return start;
  const piece = await log.read(start, chunkBytes);
  const found = piece ? piece.bytes.indexOf(newline) : -1;
  const next = piece && found >= 0 ? piece.position + found + 1 : start;
  return next < end ? next : start;
}

/** Returns the bytes from `start` to `end`, or fewer if the rest was removed meanwhile. */
async function readRange(log: LogStream, start: number, end: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let position = start; position < end;) {
    const piece = await log.read(position, end - position);
    if (!piece || piece.bytes.length === 0 || piece.position >= end) break;
    pieces.push(piece.bytes);
    position = piece.position + piece.bytes.length;
  }
  return Buffer.concat(pieces);
}
