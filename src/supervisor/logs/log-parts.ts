/**
 * The files of one log, as launchers write them (launcher/launcher.c).
 *
 *   app.log.START     a part; START, 16 digits, is the position of its first byte in all that the app wrote
 *   app.times.START   when its bytes were written, see log-index.ts
 *   app.log           a link to the part with the highest START: only that one grows
 *   .limits           how large the log may get, see log-limits.ts
 *
 * A part that has a successor never changes, until it is removed as the oldest one. So readers need no lock.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

export interface Part {
  start: number;
  path: string;
  indexPath: string;
}

/** Lists the parts, oldest first; none if there is no log. */
export async function listParts(logFolder: string): Promise<Part[]> {
  const names = await readdir(logFolder).catch((error) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.map((name) => /^app\.log\.(\d{16})$/.exec(name)?.[1]).filter((digits) => digits !== undefined)
    .sort().map((digits) => ({
      start: Number(digits),
      path: join(logFolder, `app.log.${digits}`),
      indexPath: join(logFolder, `app.times.${digits}`),
    }));
}
