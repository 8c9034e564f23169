/**
 * The small file that ties the bytes of `app.log` to the stream: byte 0 of `app.log` is byte `base` of the stream.
 *
 * Taking a head off the log changes several files, which no file system does at once. So the state is marked before and
 * changed after: a reader that sees a mark waits, and one that finds another `seq` after it read than before, reads again.
 *
 * It is written in place and never grows, so that a full disk cannot stop a rotation that would free space.
 */
import { Buffer } from "node:buffer";
import { constants, type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { statePath } from "./parts.ts";

export interface RotationState {
  /** Another one for each change. */
  seq: number;
  base: number;
  cutting?: Cutting;
}

/** The mark of a head that is being taken off. */
export interface Cutting {
  bytes: number;
  /** Where the copy begins; what is before it goes without one. */
  from: number;
  /** How long the log was before. */
  size: number;
}

const { O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const recordBytes = 256;

/** Opens the state of a log to change it, and makes it where there is none. */
export async function openState(logPath: string): Promise<FileHandle> {
  return await open(statePath(logPath), O_RDWR | O_CREAT | O_NOFOLLOW, 0o640);
}

/** Opens the state of a log to read it; undefined while the log was never looked at by a rotation. */
export async function openStateToRead(logPath: string): Promise<FileHandle | undefined> {
  return await open(statePath(logPath), O_RDONLY | O_NOFOLLOW).catch(() => undefined);
}

/** The state as it is now; undefined where it is empty, torn or being written at this moment. */
export async function readState(file: FileHandle): Promise<RotationState | undefined> {
  const buffer = Buffer.alloc(recordBytes);
  const { bytesRead } = await file.read(buffer, 0, recordBytes, 0);
  const [json = "", sum] = buffer.toString("latin1", 0, bytesRead).trimEnd().split("\n");
  return sum === checksum(json) ? parseState(json) : undefined;
}

/** A checksum that fits is no promise: that of nothing at all is 0. */
function parseState(json: string): RotationState | undefined {
  try {
    const state = JSON.parse(json);
    return Number.isSafeInteger(state?.seq) && Number.isSafeInteger(state.base) ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the state. A mark must be on the disk before what it announces. */
export async function writeState(file: FileHandle, state: RotationState): Promise<void> {
  const json = JSON.stringify(state);
  await file.write(Buffer.from(`${json}\n${checksum(json)}`.padEnd(recordBytes)), 0, recordBytes, 0);
  if (state.cutting) await file.datasync();
}

function checksum(text: string): string {
  return crc32(text).toString(16);
}
