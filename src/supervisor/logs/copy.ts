/** Copies bytes of a log to the end of another file. */
import { Buffer } from "node:buffer";
import { ftruncateSync, readSync, writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

const bufferBytes = 262_144;
/** A writer that is faster than the copy must not hold the agent for ever. */
const longestRest = 256 * 2 ** 20;

/** Copies the bytes from `start` to `end`. */
export async function copyBytes(
  log: FileHandle,
  copy: FileHandle,
  start: number,
  end: number,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(bufferBytes);
  for (let position = start; position < end;) {
    const { bytesRead } = await log.read(buffer, 0, Math.min(bufferBytes, end - position), position);
    if (bytesRead === 0) throw new Error(`the log ended at byte ${position}, before byte ${end}`);
    for (let done = 0; done < bytesRead;) {
      done += (await copy.write(buffer, done, bytesRead - done)).bytesWritten;
    }
    position += bytesRead;
  }
}

/**
 * Copies what there is from `start` on and empties the log at once. All in one go, without a turn of the event loop: what
 * is written between the last read and the truncation is lost. Returns the length that the log had.
 */
export function copyRestAndTruncate(log: FileHandle, copy: FileHandle, start: number): number {
  const buffer = Buffer.allocUnsafe(bufferBytes);
  let position = start;
  for (;;) {
    const bytesRead = readSync(log.fd, buffer, 0, bufferBytes, position);
    if (bytesRead === 0 || position - start > longestRest) break;
    for (let done = 0; done < bytesRead;) done += writeSync(copy.fd, buffer, done, bytesRead - done);
    position += bytesRead;
  }
  ftruncateSync(log.fd, 0);
  return position;
}
