/** The records that an agent has on disk, of its apps or with their runs. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeRecord } from "../../../src/supervisor/records/records.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";

/** Reads the records below a folder. One that was damaged on purpose, or is being replaced, is left out. */
export async function readRecords(folder: string): Promise<AppRecord[]> {
  const texts = (await readdir(folder)).map((entry) =>
    readFile(join(folder, entry, "record.json"), "utf8").catch(() => "")
  );
  return (await Promise.all(texts)).map(recordIn).filter((record) => record !== undefined);
}

/** Decodes a record; undefined if it is damaged. */
export function recordIn(text: string): AppRecord | undefined {
  try {
    return decodeRecord(text);
  } catch {
    return undefined;
  }
}
