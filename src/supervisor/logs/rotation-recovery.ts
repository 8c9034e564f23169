/**
 * Finishes or undoes a rotation that an agent left unfinished. Afterwards each byte is either in the log or in a part.
 *
 * Caveat: if the machine itself went down within the few milliseconds of a cut, and the log consists only of equal blocks, equal
 * lines can be lost or duplicated.
 */
import { Buffer } from "node:buffer";
import { constants, type FileHandle, open, rename, rm } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { awaitCollapse } from "./collapse.ts";
import { addPart, incomingPath, trimParts } from "./log-parts.ts";
import { type Cutting, readState, type RotationState, writeState } from "./rotation-state.ts";

export interface OpenLog {
  logPath: string;
  log: FileHandle;
  stateFile: FileHandle;
}

/** Finishes or undoes an unfinished cut, if there is one, and returns the state. */
export async function recoverRotation({ logPath, log, stateFile }: OpenLog): Promise<RotationState> {
  const state = await readState(stateFile) ?? await firstState(stateFile);
  const { cutting } = state;
  if (!cutting) {
    // A copy without a recorded cut: the log still has these bytes.
    await rm(incomingPath(logPath), { force: true });
    await rm(asidePath(logPath), { force: true });
    return state;
  }
  const copy = await moveAside(logPath);
  let wasCut = true;
  if (copy) {
    await using file = copy;
    await awaitCollapse(file);
    wasCut = await isCut(log, file, cutting);
    if (wasCut) await removeBeforeGap(logPath, cutting, 0);
    if (wasCut && (await file.stat()).size > 0) await addPart(logPath, asidePath(logPath));
    else await rm(asidePath(logPath), { force: true });
  } else {
    await removeBeforeGap(logPath, cutting, cutting.from < cutting.bytes ? 1 : 0);
  }
  const next = { seq: state.seq + 1, base: state.base + (wasCut ? cutting.bytes : 0) };
  await writeState(stateFile, next);
  return next;
}

/** Removes the parts that are older than dropped bytes; `added` parts are newer. */
async function removeBeforeGap(logPath: string, { from }: Cutting, added: number): Promise<void> {
  if (from > 0) await trimParts(logPath, { count: added, bytes: 0 });
}

async function firstState(file: FileHandle): Promise<RotationState> {
  const state = { seq: 1, base: 0 };
  await writeState(file, state);
  return state;
}

const asidePath = (logPath: string) => `${incomingPath(logPath)}.aside`;

/** Moves the copy away, so that no late collapse can start. Undefined if the copy is a part already. */
async function moveAside(logPath: string): Promise<FileHandle | undefined> {
  const missing = (error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
    return undefined;
  };
  await rename(incomingPath(logPath), asidePath(logPath)).catch(missing);
  return await open(asidePath(logPath), constants.O_RDWR | constants.O_NOFOLLOW).catch(missing);
}

/** Reports whether the cut happened: the log is shorter than before it, or no longer starts with the copied bytes. */
async function isCut(log: FileHandle, copy: FileHandle, { from, size }: Cutting): Promise<boolean> {
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
