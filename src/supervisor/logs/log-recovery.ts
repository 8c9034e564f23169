/**
 * Settles a rotation that an agent did not finish: afterwards each byte is in the log or in a part, and in one of them only.
 *
 * Caveat: where the machine itself went down within the few milliseconds of a cut, and the log consists of nothing but
 * equal blocks, equal lines can be lost or doubled.
 */
import { Buffer } from "node:buffer";
import { constants, type FileHandle, open, rename, rm } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { awaitCollapse } from "./collapse.ts";
import { addPart, incomingPath, trimParts } from "./parts.ts";
import { type Cutting, readState, type RotationState, writeState } from "./log-state.ts";

/** A log that is open, with its state. */
export interface OpenLog {
  logPath: string;
  log: FileHandle;
  stateFile: FileHandle;
}

/** Finishes or undoes what was left, and returns the state after it. Where nothing was left it only reads. */
export async function recoverRotation({ logPath, log, stateFile }: OpenLog): Promise<RotationState> {
  const state = await readState(stateFile) ?? await firstState(stateFile);
  const { cutting } = state;
  if (!cutting) {
    // A copy without a mark: the head that it was made of is still in the log.
    await rm(incomingPath(logPath), { force: true });
    await rm(asidePath(logPath), { force: true });
    return state;
  }
  const copy = await putAside(logPath);
  let taken = true;
  if (copy) {
    await using file = copy;
    await awaitCollapse(file);
    taken = await wasTaken(log, file, cutting);
    if (taken) await removeBeforeGap(logPath, cutting, 0);
    if (taken && (await file.stat()).size > 0) await addPart(logPath, asidePath(logPath));
    else await rm(asidePath(logPath), { force: true });
  } else {
    await removeBeforeGap(logPath, cutting, cutting.from < cutting.bytes ? 1 : 0);
  }
  const next = { seq: state.seq + 1, base: state.base + (taken ? cutting.bytes : 0) };
  await writeState(stateFile, next);
  return next;
}

/** Where bytes go without a copy, so does all that is older; `added` is how many parts came after them. */
async function removeBeforeGap(logPath: string, { from }: Cutting, added: number): Promise<void> {
  if (from > 0) await trimParts(logPath, { count: added, bytes: 0 });
}

async function firstState(file: FileHandle): Promise<RotationState> {
  const state = { seq: 1, base: 0 };
  await writeState(file, state);
  return state;
}

const asidePath = (logPath: string) => `${incomingPath(logPath)}.aside`;

/** Moves the copy away, so that no late collapse begins any more. Undefined where it has become a part already. */
async function putAside(logPath: string): Promise<FileHandle | undefined> {
  const missing = (error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
    return undefined;
  };
  await rename(incomingPath(logPath), asidePath(logPath)).catch(missing);
  return await open(asidePath(logPath), constants.O_RDWR | constants.O_NOFOLLOW).catch(missing);
}

/** The log only grows, except by a cut; and if what was copied is still where it was, there was none. */
async function wasTaken(log: FileHandle, copy: FileHandle, { from, size }: Cutting): Promise<boolean> {
  if ((await log.stat()).size < size) return true;
  const [a, b] = [Buffer.alloc(65_536), Buffer.alloc(65_536)];
  for (let position = 0;;) {
    const { bytesRead } = await copy.read(a, 0, a.length, position);
    if (bytesRead === 0) return false;
    const { bytesRead: inLog } = await log.read(b, 0, bytesRead, from + position);
    if (inLog !== bytesRead || a.compare(b, 0, bytesRead, 0, bytesRead) !== 0) return true;
    position += bytesRead;
  }
}
