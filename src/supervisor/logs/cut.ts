/**
 * The two ways to take bytes out of a log that an app appends to. Each step leaves something that recoverRotation() can
 * finish or undo: first the copy, then the mark, then the cut, then the new part and the new state.
 */
import { constants, type FileHandle, open, rm } from "node:fs/promises";
import type { Collapse } from "./collapse.ts";
import { copyBytes, copyRestAndTruncate } from "./copy.ts";
import { addPart, incomingPath, trimParts } from "./parts.ts";
import { type OpenLog, recoverRotation } from "./log-recovery.ts";
import { writeState } from "./log-state.ts";

/** A log to cut. */
export interface Cut extends OpenLog {
  collapse: Collapse;
}

/** What all parts together may be. */
export interface Room {
  count: number;
  bytes: number;
}

const noRoom: Room = { count: 0, bytes: 0 };

/**
 * Takes whole blocks off the head, without any loss; `copy: false` drops them. Then all parts go, too: what is older than a gap would be
 * read in its place.
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
  // The kernel writes out all that it shifts while the app has to wait: most of it can be written out before.
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

/** Copies the log, as much of its end as there is room for, and empties it. Returns how many bytes were dropped. */
export async function cutWhole(cut: OpenLog, room: Room): Promise<number> {
  const { logPath, log, stateFile } = cut;
  const { seq, base } = await recoverRotation(cut);
  await using incoming = await openIncoming(logPath);
  const { size } = await log.stat();
  const from = Math.max(0, size - room.bytes);
  await copyBytes(log, incoming, from, size);
  await incoming.sync();
  await writeState(stateFile, { seq: seq + 1, base, cutting: { bytes: size, from, size } });
  const length = copyRestAndTruncate(log, incoming, size);
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
