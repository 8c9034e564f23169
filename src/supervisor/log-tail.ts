/**
 * The last lines of a log, without reading the rest of it.
 */
import { open } from "node:fs/promises";
import { errorCode } from "../lib/files.ts";

/** At most `lines` lines and `bytes` bytes from the end; a line cut at its start is left out unless it is the only one. */
export async function readLogTail(path: string, { lines = 10, bytes = 2048 } = {}): Promise<string> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    const length = Math.min(size, bytes);
    const buffer = new Uint8Array(length);
    await file.read(buffer, 0, length, size - length);
    return lastLines(new TextDecoder().decode(buffer), lines, size > length);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

function lastLines(text: string, count: number, cut: boolean): string {
  const all = text.replace(/\n$/, "").split("\n");
  const whole = cut && all.length > 1 ? all.slice(1) : all;
  return whole.slice(-count).join("\n");
}
