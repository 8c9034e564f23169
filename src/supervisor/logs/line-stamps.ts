/** Puts the time in front of each line of a log: RFC 3339 with nine digits of a second and a space, as `kubectl logs --timestamps`. */
import { Buffer } from "node:buffer";
import type { Sample } from "./log-index.ts";
import type { LogPiece } from "./log-stream.ts";

/** Returns a piece of the log with the times of the lines that start in it; the first sample is not behind the piece's start. */
type StampLines = (piece: LogPiece, samples: readonly Sample[]) => Uint8Array;

const newline = 10;

/** Stamps the lines of one reader, never with a time before that of the line above, or in the future. */
export function createLineStamps(now: () => number): StampLines {
  let atLineStart = true;
  let shown = { time: -Infinity, text: Buffer.alloc(0) };
  const textOf = (time: number) => {
    if (time > shown.time) shown = { time, text: Buffer.from(formatStamp(time)) };
    return shown.text;
  };
  return ({ position, bytes }, samples) => {
    const latest = now();
    const pieces: Uint8Array[] = [];
    let number = 0;
    for (let from = 0; from < bytes.length;) {
      while (number + 1 < samples.length && samples[number + 1]!.position <= position + from) number++;
      if (atLineStart) pieces.push(textOf(Math.min(latest, samples[number]!.time)));
      const end = bytes.indexOf(newline, from);
      atLineStart = end >= 0;
      const next = atLineStart ? end + 1 : bytes.length;
      pieces.push(bytes.subarray(from, next));
      from = next;
    }
    return Buffer.concat(pieces);
  };
}

/** Returns the time as in `2026-11-17T07:04:14.123000000Z `. */
export function formatStamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, -1)}000000Z `;
}
