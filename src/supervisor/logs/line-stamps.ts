/** Puts the time in front of each line of a log: RFC 3339 with nine digits of a second and a space, as `kubectl logs --timestamps`. */
import { Buffer } from "node:buffer";
import { steadyNow } from "../../lib/time.ts";
import type { LogTimes } from "../log-times.ts";

export interface LineStamps {
  /** Returns bytes of the log with the times of the lines that start in them. `mtimeMs` is when the log was last changed. */
  stamp(position: number, bytes: Uint8Array, mtimeMs: number): Promise<Uint8Array>;
}

const newline = 10;
/** How often a reader looks for new samples. */
const reloadMs = 5000;

/**
 * Stamps the lines of one reader, never with a time before that of the line above. `load` reads the samples; lines behind the last one
 * were written when the log was last changed.
 */
export function createLineStamps(
  load: () => Promise<LogTimes>,
  now: () => number,
  elapsed: () => number = steadyNow,
): LineStamps {
  let times: LogTimes | undefined;
  let loadedAt = -Infinity;
  let atLineStart = true;
  let shown = { time: -Infinity, text: Buffer.alloc(0) };
  const textOf = (time: number) => {
    // New samples may know better about lines above, but those were shown.
    if (time > shown.time) shown = { time, text: Buffer.from(formatStamp(time)) };
    return shown.text;
  };
  return {
    async stamp(position, bytes, mtimeMs) {
      // A reader that is slow meets lines that were sampled since.
      if (!times || (position + bytes.length > times.last.offset && elapsed() - loadedAt > reloadMs)) {
        times = await load();
        loadedAt = elapsed();
      }
      const latest = Math.min(now(), Math.max(Math.ceil(mtimeMs), times.last.time));
      const pieces: Uint8Array[] = [];
      for (let from = 0; from < bytes.length;) {
        if (atLineStart) pieces.push(textOf(times.timeAt(position + from) ?? latest));
        const end = bytes.indexOf(newline, from);
        atLineStart = end >= 0;
        const next = atLineStart ? end + 1 : bytes.length;
        pieces.push(bytes.subarray(from, next));
        from = next;
      }
      return Buffer.concat(pieces);
    },
  };
}

/** Returns the time as in `2026-11-17T07:04:14.123000000Z `. */
export function formatStamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, -1)}000000Z `;
}
