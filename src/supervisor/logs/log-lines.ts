/** Finds lines in the stream of a log. */
import { Buffer } from "node:buffer";
import type { LogStream } from "./log-stream.ts";

const chunkBytes = 65_536;
const newline = 10;

/**
 * Returns where the last `count` lines start, between `start` and `end`; `start` if there are fewer. An unfinished line at the end
 * counts.
 */
export async function lastLines(log: LogStream, start: number, end: number, count: number): Promise<number> {
  let missing = count;
  let position = end;
  let first = start;
  while (missing > 0 && position > first) {
    const asked = Math.max(first, position - chunkBytes);
    const bytes = await readRange(log, asked, position);
    // The log is gone, or its reader is.
    if (bytes.length === 0) return end;
    // What was before that has been removed meanwhile.
    const from = position - bytes.length;
    if (from > asked) first = from;
    // The newline at the very end ends the last line; it does not start another.
    let i = position === end ? bytes.length - 1 : bytes.length;
    while (i > 0 && (i = bytes.lastIndexOf(newline, i - 1)) >= 0) {
      if (--missing === 0) return from + i + 1;
    }
    position = from;
  }
  return missing > 0 ? first : end;
}

/** Returns where the first whole line starts: removed parts may leave half a line. Returns `start` if there is no whole line. */
export async function firstLine(log: LogStream, start: number, end: number): Promise<number> {
  if (start === 0) return start;
  const piece = await log.read(start, chunkBytes);
  const found = piece ? piece.bytes.indexOf(newline) : -1;
  const next = piece && found >= 0 ? piece.position + found + 1 : start;
  return next < end ? next : start;
}

/** Returns where the first line starts that is not before `position`; `end` if there is none. */
export async function nextLine(log: LogStream, position: number, end: number): Promise<number> {
  for (let from = position - 1; from < end;) {
    const piece = await log.read(from, Math.min(chunkBytes, end - from));
    if (!piece || piece.bytes.length === 0) return end;
    const found = piece.bytes.indexOf(newline);
    if (found >= 0) return Math.min(end, piece.position + found + 1);
    from = piece.position + piece.bytes.length;
  }
  return end;
}

/** Returns the bytes from `start` to `end`, or fewer if the rest was removed meanwhile. */
export async function readRange(log: LogStream, start: number, end: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let position = start; position < end;) {
    const piece = await log.read(position, end - position);
    if (!piece || piece.bytes.length === 0 || piece.position >= end) break;
    const bytes = piece.bytes.subarray(0, end - piece.position);
    pieces.push(bytes);
    position = piece.position + bytes.length;
  }
  return Buffer.concat(pieces);
}
