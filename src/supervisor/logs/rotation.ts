/**
 * Keeps the log of an app within bounds while the app writes to it.
 *
 * Guarantees:
 * - The app keeps its file and is never told; it must have opened it for append.
 * - On ext4 and xfs no byte is lost or doubled, also if the agent is killed at any point: the head of the log is copied to
 *   a new part, the copy is brought to the disk, the cut is written down, and only then the kernel takes the head off.
 * - Parts are as long as `maxBytes` in whole blocks, so a cut may fall into a line; the parts joined are the stream.
 * - It never throws: trouble is in the result. On a full disk the oldest lines go first.
 * - No link is followed.
 *
 * Caveat: elsewhere (tmpfs, btrfs) the log is copied and truncated; what the app writes between the last read and the
 * truncation, some microseconds, is lost, and the result says `lossless: false`.
 * Caveat: a script that writes `> /dev/stderr` opens its log anew and empties it, as every shell does with files.
 */
import { constants, lstat, open, statfs } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { type Collapse, fallocateCollapse } from "./collapse.ts";
import { type Cut, cutHead, cutWhole } from "./cut.ts";
import { dropOldestPart } from "./parts.ts";
import { recoverRotation } from "./log-recovery.ts";
import { openState, readState } from "./log-state.ts";

export interface RotationPolicy {
  /** A log that is longer is rotated. */
  maxBytes: number;
  /** How many files there may be, `app.log` included. */
  maxFiles: number;
}

export interface Rotation {
  rotated: boolean;
  /** False where lines may have been lost since the file system cannot collapse. */
  lossless: boolean;
  /** Bytes that were removed without a copy: more than all parts may hold, or no room for them. */
  droppedBytes: number;
  /** Why it could not be done, or not in full. */
  problem?: Error;
}

export interface RotationDeps {
  collapse?: Collapse;
}

const underWay = new Map<string, Promise<Rotation>>();
/** Logs whose state this process has seen without an unfinished cut: as long as they are short, nothing has to be opened. */
const settled = new Set<string>();

/** Rotates a log that has grown too long. While one rotation of a log is under way, a second call waits for the same. */
export function rotateIfNeeded(
  logPath: string,
  policy: RotationPolicy,
  deps: RotationDeps = {},
): Promise<Rotation> {
  const known = underWay.get(logPath);
  if (known) return known;
  const rotation = rotate(logPath, policy, deps).finally(() => underWay.delete(logPath));
  underWay.set(logPath, rotation);
  return rotation;
}

/** A log that was removed: nothing is kept of it, nor taken for granted where one of the same name comes. */
export function forgetLog(logPath: string): void {
  settled.delete(logPath);
}

/** Which bytes of the head go: `drop` without a copy, then `parts` parts of `partBytes`. Pure. */
export function planRotation(size: number, { maxBytes, maxFiles }: RotationPolicy, blockBytes: number) {
  const partBytes = Math.max(1, Math.floor(maxBytes / blockBytes)) * blockBytes;
  // The kernel takes no head off that is the whole file.
  const whole = size > maxBytes ? Math.floor((size - 1) / partBytes) : 0;
  const parts = Math.min(whole, Math.max(0, maxFiles - 1));
  return { partBytes, parts, drop: (whole - parts) * partBytes };
}

async function rotate(
  logPath: string,
  policy: RotationPolicy,
  { collapse = fallocateCollapse }: RotationDeps,
) {
  const result: Rotation = { rotated: false, lossless: true, droppedBytes: 0 };
  try {
    // Not in one go, though it would be cheaper: a disk that hangs must not hold up the agent.
    const info = await lstat(logPath).catch(() => undefined);
    const wasSettled = settled.delete(logPath);
    if (!info) return result;
    if (!info.isFile()) throw new Error("not a regular file");
    if (wasSettled && info.size <= policy.maxBytes) {
      settled.add(logPath);
      return result;
    }
    await using stateFile = await openState(logPath);
    const state = await readState(stateFile);
    if (state && !state.cutting && info.size <= policy.maxBytes) {
      settled.add(logPath);
      return result;
    }
    await using log = await open(logPath, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await rotateOpen({ logPath, log, stateFile, collapse }, policy, result);
  } catch (cause) {
    result.problem = new Error(`cannot rotate ${logPath}: ${errorCode(cause)}`, { cause });
  }
  return result;
}

async function rotateOpen(cut: Cut, policy: RotationPolicy, result: Rotation): Promise<void> {
  await recoverRotation(cut);
  const [{ size }, { bsize }] = await Promise.all([cut.log.stat(), statfs(cut.logPath)]);
  const { partBytes, parts, drop } = planRotation(size, policy, bsize);
  const room = { count: policy.maxFiles - 1, bytes: (policy.maxFiles - 1) * partBytes };
  const heads = [
    ...(drop ? [{ bytes: drop, copy: false }] : []),
    ...Array(parts).fill({ bytes: partBytes, copy: true }),
  ];
  for (const head of heads) {
    const done = await withRoom(cut, head.copy, (copy) => cutHead(cut, { ...head, copy }, room));
    if (done === "unsupported") {
      const droppedBytes = await withRoom(
        cut,
        true,
        (copy) => cutWhole(cut, copy ? room : { count: 0, bytes: 0 }),
      );
      return void Object.assign(result, { rotated: true, lossless: false, droppedBytes });
    }
    result.rotated = true;
    result.droppedBytes += done.droppedBytes;
  }
}

/** Tries again with the oldest part removed as long as the disk is full; when there is none left, without a copy. */
async function withRoom<T>(
  { logPath }: Cut,
  copy: boolean,
  attempt: (copy: boolean) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt(copy);
    } catch (error) {
      const isFull = ["ENOSPC", "EDQUOT"].includes(errorCode(error));
      if (!isFull) throw error;
      if (await dropOldestPart(logPath)) continue;
      if (!copy) throw error;
      copy = false;
    }
  }
}
