/**
 * Keeps the log of an app within its limits while the app writes to it.
 *
 * Guarantees:
 * - Whoever writes keeps its open file and takes no part; it must have opened the file for append.
 * - On ext4 and xfs no byte is lost or duplicated, even if the agent is killed at any point: it copies the head of the log to a new
 *   part, flushes the copy to the disk, writes down the cut, and only then lets the kernel remove the head.
 * - Parts are `maxBytes` long, rounded down to whole blocks, so a cut may split a line; the parts joined are the stream.
 * - It never throws: errors are in the result. On a full disk the oldest lines go first.
 * - It follows no symbolic link.
 *
 * Caveat: on other file systems (tmpfs, btrfs) the log is copied and truncated. What the app writes in the microseconds between the
 * last read and the truncation, milliseconds on remote file systems, is lost, and the result says `lossless: false`.
 * Caveat: under the sh launcher a script that writes `> /dev/stderr` reopens its log and empties it, as every shell does with files.
 */
import { constants, lstat, open, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { FileTimeoutError, inLane, isRemoteFileSystem } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";
import { type Collapse, fallocateCollapse, punchHead } from "./collapse.ts";
import { type Cut, cutHead, cutWhole, noRoom } from "./cut.ts";
import { dropOldestPart } from "./log-parts.ts";
import { recoverRotation } from "./rotation-recovery.ts";
import { openState, readState, type RotationState } from "./rotation-state.ts";

export interface RotationPolicy {
  /** A longer log is rotated. */
  maxBytes: number;
  /** The maximum number of files, including `app.log`. */
  maxFiles: number;
}

export interface Rotation {
  rotated: boolean;
  /** False if lines may have been lost because the file system cannot collapse. */
  lossless: boolean;
  /** Bytes removed without a copy: the parts may not hold more, or the disk is full. */
  droppedBytes: number;
  /** Why the rotation failed or is incomplete. */
  problem?: Error;
  /** How long the log was before the rotation; undefined if there is none. */
  seen?: LogLength;
}

export interface LogLength {
  /** The position of the log's first byte in the stream. */
  base: number;
  size: number;
  mtimeMs: number;
}

export interface RotationDeps {
  collapse?: Collapse;
}

const underWay = new Map<string, Promise<Rotation>>();
/** Logs known to have no unfinished cut, with their base: while they are short, no file needs to be opened. */
const settled = new Map<string, number>();

/** Rotates a log that is too long. A call during a rotation of the same log returns the result of that rotation. */
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

/** Forgets what is known about a removed log: a new one may get the same path. */
export function forgetRotation(logPath: string): void {
  settled.delete(logPath);
}

/** Plans what to cut from the head: first `drop` bytes without a copy, then `parts` parts of `partBytes`. Pure. */
export function planRotation(size: number, { maxBytes, maxFiles }: RotationPolicy, blockBytes: number) {
  const partBytes = Math.max(1, Math.floor(maxBytes / blockBytes)) * blockBytes;
  // The kernel cannot collapse the whole file.
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
    const info = await inLane(dirname(dirname(logPath)), () => lstat(logPath), { path: logPath })
      .catch((error) => {
        if (error instanceof FileTimeoutError) throw error;
        return undefined;
      });
    const known = settled.get(logPath);
    settled.delete(logPath);
    if (!info) return result;
    if (!info.isFile()) throw new Error("not a regular file");
    const isShort = (base: number) => {
      settled.set(logPath, base);
      return { ...result, seen: { base, size: info.size, mtimeMs: info.mtimeMs } };
    };
    if (known !== undefined && info.size <= policy.maxBytes) return isShort(known);
    await using stateFile = await openState(logPath);
    const state = await readState(stateFile);
    if (state && !state.cutting && info.size <= policy.maxBytes) return isShort(state.base);
    await using log = await open(logPath, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const isRemote = await isRemoteFileSystem(dirname(logPath));
    await rotateOpen({ logPath, log, stateFile, collapse, isRemote }, policy, result);
  } catch (cause) {
    result.problem = new Error(`cannot rotate ${logPath}: ${errorCode(cause)}`, { cause });
  }
  return result;
}

async function rotateOpen(cut: Cut, policy: RotationPolicy, result: Rotation): Promise<void> {
  const { base } = await recoverOnFullDisk(cut, policy);
  const [{ size, mtimeMs }, { bsize }] = await Promise.all([cut.log.stat(), statfs(cut.logPath)]);
  result.seen = { base, size, mtimeMs };
  const { partBytes, parts, drop } = planRotation(size, policy, bsize);
  const room = { count: policy.maxFiles - 1, bytes: (policy.maxFiles - 1) * partBytes };
  const heads = [
    ...(drop ? [{ bytes: drop, copy: false }] : []),
    ...Array(parts).fill({ bytes: partBytes, copy: true }),
  ];
  for (const head of heads) {
    const done = await freeingSpace(cut, head.copy, (copy) => cutHead(cut, { ...head, copy }, room));
    if (done === "unsupported") {
      const droppedBytes = await freeingSpace(
        cut,
        true,
        (copy) => cutWhole(cut, copy ? room : noRoom),
      );
      return void Object.assign(result, { rotated: true, lossless: false, droppedBytes });
    }
    result.rotated = true;
    result.droppedBytes += done.droppedBytes;
  }
}

/** The first state of a log needs a block: on a full disk, the oldest bytes of a log that is too long make room for it. */
async function recoverOnFullDisk(cut: Cut, policy: RotationPolicy): Promise<RotationState> {
  try {
    return await recoverRotation(cut);
  } catch (error) {
    const [{ size }, { bsize }] = await Promise.all([cut.log.stat(), statfs(cut.logPath)]);
    if (!isFull(error) || size <= policy.maxBytes) throw error;
    await punchHead(cut.log, planRotation(size, policy, bsize).drop || bsize);
    return await recoverRotation(cut);
  }
}

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(errorCode(error));
}

/** While the disk is full, removes the oldest part and tries again; without any part left, tries without a copy. */
async function freeingSpace<T>(
  { logPath }: Cut,
  copy: boolean,
  attempt: (copy: boolean) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt(copy);
    } catch (error) {
      if (!isFull(error)) throw error;
      if (await dropOldestPart(logPath)) continue;
      if (!copy) throw error;
      copy = false;
    }
  }
}
