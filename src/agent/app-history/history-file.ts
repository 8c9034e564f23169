/** One history file: bounded in size, readable at any time. Only in a folder that belongs to the agent. */
import { constants, open } from "node:fs/promises";
import { errorCode, writeFileAtomic } from "../../lib/files.ts";
import type { HistoryEntry } from "../../server/view.ts";
import { compact, decodeEntries, encodeEntries } from "./entries.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

export const maxFileBytes = 65_536;

/** Adds entries. A file that would get too long is replaced by a shorter one. */
export async function addEntries(path: string, entries: HistoryEntry[], now: number): Promise<void> {
  const bytes = new TextEncoder().encode(encodeEntries(entries));
  {
    await using file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    const { size } = await file.stat();
    // writeFile() goes on after a part was written.
    if (size + bytes.length <= maxFileBytes) return await file.writeFile(bytes);
  }
  // A quarter is left free, so that not every entry leads here.
  const kept = compact([...await readEntries(path), ...entries], now, maxFileBytes * 3 / 4);
  await writeFileAtomic(path, encodeEntries(kept), { durable: false });
}

/** Returns the entries, or those in the last bytes of the file; none if there is no file. */
export async function readEntries(path: string, lastBytes = maxFileBytes): Promise<HistoryEntry[]> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    const { size } = await file.stat();
    const buffer = new Uint8Array(Math.min(size, lastBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
    return decodeEntries(new TextDecoder().decode(buffer.subarray(0, bytesRead)));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}
