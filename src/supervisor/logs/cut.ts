/**
 * The two ways to cut bytes from a log while an app appends to it. The steps are: copy, write down the cut, cut, add the part,
 * write the new state. recoverRotation() can finish or undo a cut after each of them.
 */
import { Buffer } from "node:buffer";
import { ftruncateSync, readSync, writeSync } from "node:fs";
import { constants, type FileHandle, open, rm } from "node:fs/promises";
import type { Collapse } from "./collapse.ts";
import { addPart, incomingPath, trimParts } from "./log-parts.ts";
import { type OpenLog, recoverRotation } from "./rotation-recovery.ts";
import { writeState } from "./rotation-state.ts";

export interface Cut extends OpenLog {
  collapse: Collapse;
  /** The file system may hang, see lib/deadlines. */
  isRemote: boolean;
}

/** How much all parts together may hold. */
export interface Room {
  count: number;
  bytes: number;
}

const bufferBytes = 262_144;
/** Bounds the time that a writer faster than the copy can block the agent. */
const maxRestBytes = 256 * 2 ** 20;

export const noRoom: Room = { count: 0, bytes: 0 };

/**
 * Cuts whole blocks off the head of the log into a new part, without losing a byte. With `copy: false` it drops them, and all parts
 * with them: a reader would take older lines for the dropped ones.
 */
export async function cutHead(
  cut: Cut,
  { bytes, copy }: { bytes: number; copy: boolean },
  room: Room,
): Promise<"unsupported" | { droppedBytes: number }> {
  const { logPath, log, stateFile, collapse } = cut;
  const { seq, base } = await recoverRotation(cut);
  await using incoming = await openIncoming(logPath);
  if (copy) await copyBytes(log, incoming, 0, bytes);
  await incoming.sync();
  // The kernel flushes all that it shifts while the app has to wait: flush most of it before.
  await log.datasync();
  const { size } = await log.stat();
  await writeState(stateFile, { seq: seq + 1, base, cutting: { bytes, from: copy ? 0 : bytes, size } });
  if (await collapse(log, { path: incomingPath(logPath), file: incoming }, bytes) === "unsupported") {
    await rm(incomingPath(logPath));
    await writeState(stateFile, { seq: seq + 2, base });
    return "unsupported";
  }
  if (copy) await addPart(logPath, incomingPath(logPath));
  else await rm(incomingPath(logPath));
  await trimParts(logPath, copy ? room : noRoom);
  await writeState(stateFile, { seq: seq + 2, base: base + bytes });
  return { droppedBytes: copy ? 0 : bytes };
}

/** Copies the end of the log, as much as `room` allows, and empties the log. Returns the number of dropped bytes. */
export async function cutWhole(cut: Cut, room: Room): Promise<number> {
  const { logPath, log, stateFile, isRemote } = cut;
  const { seq, base } = await recoverRotation(cut);
  await using incoming = await openIncoming(logPath);
  const { size } = await log.stat();
  const from = Math.max(0, size - room.bytes);
  await copyBytes(log, incoming, from, size);
  await incoming.sync();
  await writeState(stateFile, { seq: seq + 1, base, cutting: { bytes: size, from, size } });
  const length = await copyRestAndTruncate(
    isRemote ? inBackground(log, incoming) : atOnce(log, incoming),
    size,
  );
  await incoming.sync();
  if (room.count > 0) await addPart(logPath, incomingPath(logPath));
  else await rm(incomingPath(logPath));
  await trimParts(logPath, room);
  await writeState(stateFile, { seq: seq + 2, base: base + length });
  return room.count > 0 ? from : length;
}

async function openIncoming(logPath: string): Promise<FileHandle> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
  return await open(incomingPath(logPath), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640);
}

async function copyBytes(
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

/** The operations of copying the rest of a log. */
interface CopyFiles {
  read(buffer: Buffer, position: number): number | Promise<number>;
  write(buffer: Buffer, from: number, to: number): number | Promise<number>;
  truncate(): void | Promise<void>;
}

/** Synchronous calls: between the last read and the truncation, the app has only microseconds to write. */
function atOnce(log: FileHandle, copy: FileHandle): CopyFiles {
  return {
    read: (buffer, position) => readSync(log.fd, buffer, 0, buffer.length, position),
    write: (buffer, from, to) => writeSync(copy.fd, buffer, from, to - from),
    truncate: () => ftruncateSync(log.fd, 0),
  };
}

/** For file systems that may hang: a synchronous call would block the agent with them. */
function inBackground(log: FileHandle, copy: FileHandle): CopyFiles {
  return {
    read: async (buffer, position) => (await log.read(buffer, 0, buffer.length, position)).bytesRead,
    write: async (buffer, from, to) => (await copy.write(buffer, from, to - from)).bytesWritten,
    truncate: () => log.truncate(0),
  };
}

/** Copies the log from `start` and truncates it. Bytes written after the last read are lost. Returns the old length. */
async function copyRestAndTruncate(files: CopyFiles, start: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(bufferBytes);
  let position = start;
  for (;;) {
    const bytesRead = await files.read(buffer, position);
    if (bytesRead === 0 || position - start > maxRestBytes) break;
    for (let done = 0; done < bytesRead;) done += await files.write(buffer, done, bytesRead);
    position += bytesRead;
  }
  await files.truncate();
  return position;
}
