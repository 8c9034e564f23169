import { parseNested } from "./parse.ts";

/** The figures of the io controller, summed over all devices. */
export interface IoStats {
  readBytes: number;
  writtenBytes: number;
}

/** Parses `io.stat`. */
export function parseIoStat(text: string, where = "io.stat"): IoStats {
  const sum = { readBytes: 0, writtenBytes: 0 };
  for (const device of Object.values(parseNested(text, where))) {
    sum.readBytes += device["rbytes"] ?? 0;
    sum.writtenBytes += device["wbytes"] ?? 0;
  }
  return sum;
}
