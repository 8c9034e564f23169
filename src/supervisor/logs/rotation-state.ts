/**
 * The state file, which ties `app.log` to the stream: byte 0 of `app.log` is byte `base` of the stream.
 *
 * A cut changes several files, which is never atomic. So the state announces the cut before and changes after it: a reader that
 * sees a cut announced waits, and one that finds a different `seq` after reading reads again.
 *
 * The file is written in place and never grows, so a full disk cannot stop a rotation that would free space.
 */
import { Buffer } from "node:buffer";
import { constants, type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { openInLane } from "../../lib/deadlines/deadlines.ts";
import { statePath } from "./log-parts.ts";

export interface RotationState {
  /** Grows with each change. */
  seq: number;
  base: number;
  cutting?: Cutting;
}

export interface Cutting {
  bytes: number;
  /** Where the copy starts; the bytes before it are dropped. */
  from: number;
  /** The length of the log before the cut. */
  size: number;
}

const { O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const recordBytes = 256;

export async function openState(logPath: string): Promise<FileHandle> {
  return await open(statePath(logPath), O_RDWR | O_CREAT | O_NOFOLLOW, 0o640);
}

/** Opens the state of a log for reading; undefined if no rotation has checked the log yet. */
export async function openStateToRead(logs: string, logPath: string): Promise<FileHandle | undefined> {
  return await openInLane(logs, statePath(logPath), O_RDONLY | O_NOFOLLOW).catch(() => undefined);
}

/** Reads the state; undefined if the file is empty, torn or being written at this moment. */
export async function readState(file: FileHandle): Promise<RotationState | undefined> {
  const buffer = Buffer.alloc(recordBytes);
  const { bytesRead } = await file.read(buffer, 0, recordBytes, 0);
  const [json = "", sum] = buffer.toString("latin1", 0, bytesRead).trimEnd().split("\n");
  return sum === checksum(json) ? parseState(json) : undefined;
}

/** A matching checksum is not enough: that of an empty text is 0. */
function parseState(json: string): RotationState | undefined {
  try {
    const state = JSON.parse(json);
    return Number.isSafeInteger(state?.seq) && Number.isSafeInteger(state.base) ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the state. An announced cut must be on the disk before the cut itself. */
export async function writeState(file: FileHandle, state: RotationState): Promise<void> {
  const json = JSON.stringify(state);
  await file.write(Buffer.from(`${json}\n${checksum(json)}`.padEnd(recordBytes)), 0, recordBytes, 0);
  if (state.cutting) await file.datasync();
}

function checksum(text: string): string {
  return crc32(text).toString(16);
}
