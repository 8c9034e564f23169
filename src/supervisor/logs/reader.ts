/**
 * Reads the log of an app for people: its last lines, all of it, and what comes, across rotations.
 *
 * Guarantees: no line is lost or doubled by a rotation; where a reader is so slow that what it wants was removed, it goes on
 * with the oldest that is there. A read begins with a whole line.
 * Files stay open until the iteration is over: who stops early calls return(), as `for await` does.
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { type LogView, openLogView } from "./log-view.ts";
import { createWaiter, type WaiterOptions } from "./wait.ts";

export interface ReadLogOptions {
  /** Begin with so many lines before the end; all that there are if absent. */
  tailLines?: number;
  /** Go on when the end is reached, until `signal` aborts or the log is removed. */
  follow?: boolean;
  signal?: AbortSignal;
  waiting?: WaiterOptions;
}

const chunkBytes = 65_536;
const readBytes = 262_144;
const newline = 10;

/** The log in `logFolder` as it is read; nothing where there is none. */
export async function* readLog(logFolder: string, options: ReadLogOptions = {}): AsyncGenerator<Uint8Array> {
  const { tailLines, follow = false, signal = new AbortController().signal, waiting } = options;
  const view = await openLogView(join(logFolder, "app.log"));
  if (!view) return;
  await using log = view;
  using waiter = createWaiter(logFolder, waiting);
  const { start, end } = await log.bounds();
  let position = tailLines === undefined
    ? await firstLine(log, start, end)
    : await lastLines(log, start, end, tailLines);
  while (!signal.aborted && (follow || position < end)) {
    const piece = await log.read(position, follow ? readBytes : Math.min(readBytes, end - position));
    if (!piece) return;
    position = piece.position + piece.bytes.length;
    if (piece.bytes.length > 0) {
      waiter.found();
      yield piece.bytes;
    } else if (follow) {
      await waiter.wait(signal);
    } else {
      return;
    }
  }
}

/** As readLog(), going on for ever. */
export function followLog(
  logFolder: string,
  options: Omit<ReadLogOptions, "follow"> & { signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  return readLog(logFolder, { ...options, follow: true });
}

/** The last lines as text, for a status: at most so many lines and bytes; a longer last line is cut at its start. */
export async function readTail(logFolder: string, { tailLines = 10, maxBytes = 2048 } = {}): Promise<string> {
  const view = await openLogView(join(logFolder, "app.log"));
  if (!view) return "";
  await using log = view;
  const { start, end } = await log.bounds();
  const from = await lastLines(log, Math.max(start, end - maxBytes), end, tailLines);
  const text = Buffer.from(await readRange(log, from, end)).toString("utf8");
  return text.replace(/\r?\n$/, "");
}

/** Where the last `count` lines begin, between `start` and `end`. An unfinished line at the end is a line, too. */
async function lastLines(log: LogView, start: number, end: number, count: number): Promise<number> {
  let missing = count;
  let position = end;
  while (missing > 0 && position > start) {
    const from = Math.max(start, position - chunkBytes);
    const bytes = await readRange(log, from, position);
    // The newline at the very end finishes the last line; it does not begin another.
    let i = position === end ? bytes.length - 1 : bytes.length;
    while (i > 0 && (i = bytes.lastIndexOf(newline, i - 1)) >= 0) {
      if (--missing === 0) return from + i + 1;
    }
    position = from;
  }
  return missing > 0 ? await firstLine(log, start, end) : end;
}

/**
 * The first line that is whole: what is left of a log does not begin with one, unless nothing was ever removed. Where there
 * is no whole line, the rest of one is better than nothing.
 */
async function firstLine(log: LogView, start: number, end: number): Promise<number> {
  if (start === 0) return start;
  const piece = await log.read(start, chunkBytes);
  const found = piece ? piece.bytes.indexOf(newline) : -1;
  const next = piece && found >= 0 ? piece.position + found + 1 : start;
  return next < end ? next : start;
}

/** The bytes from `start` to `end`, or fewer where the rest was removed meanwhile. */
async function readRange(log: LogView, start: number, end: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let position = start; position < end;) {
    const piece = await log.read(position, end - position);
    if (!piece || piece.bytes.length === 0 || piece.position >= end) break;
    pieces.push(piece.bytes);
    position = piece.position + piece.bytes.length;
  }
  return Buffer.concat(pieces);
}
