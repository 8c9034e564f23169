/**
 * Records on disk: atomic, versioned, checksummed.
 *
 * A torn, empty or foreign file is set aside (`record.json.bad-<time>`) and reported; the app then comes back from its source.
 * The checksum covers the exact text of the record, so it detects any flipped bit.
 */
import { createHash } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { appKey } from "../../api/names.ts";
import {
  ensureFolder,
  ensureFolderSync,
  errorCode,
  readIfExists,
  replaceSync,
  writeFileAtomic,
  writeNewSync,
} from "../../lib/files.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { appFolder, appsFolder, folderOf, type Layout, recordPath } from "../layout.ts";
import { mayStartAgain } from "../run-ref.ts";
import type { AppRecord } from "../types.ts";

const version = 1;

/** The file does not contain a record. */
class BadRecord extends Error {}

/** A later version of the program wrote the record, and will read it again. */
class LaterRecord extends Error {}

export interface UnreadableRecord {
  /** The folder of its app. */
  folder: string;
  path: string;
  why: string;
  /** A later version of the program wrote it. */
  isLater: boolean;
}

export interface RecordStore {
  /** Loads what can be read. `onUnreadable` gets the files that stay in place, since a later version or another try can read them. */
  load(onUnreadable?: (file: UnreadableRecord) => void): Promise<AppRecord[]>;
  save(record: AppRecord): Promise<void>;
  remove(record: AppRecord): Promise<void>;
}

export function createRecordStore(layout: Layout, log: Logger, now: () => number = Date.now): RecordStore {
  /** The folders that this store has used: a new app costs no write that fails. */
  const used = new Set<string>();
  return {
    async load(onUnreadable = () => {}) {
      await ensureFolder(appsFolder(layout));
      const folders = await readdir(appsFolder(layout));
      const records = await Promise.all(
        folders.map((folder) => loadRecord(layout, folder, { log, now, onUnreadable })),
      );
      return records.filter((record) => record !== undefined);
    },
    async save(record) {
      const folder = folderOf(record.app);
      const path = recordPath(layout, folder);
      // A run does not outlive a power cut: most starts that are forgotten then are made again.
      const durable = record.phase !== "Starting" || !mayStartAgain(record);
      const write = () => writeFileAtomic(path, encodeRecord(record), { durable });
      const ensure = () => ensureFolderSync(appFolder(layout, folder));
      const isNew = !used.has(folder) && ensure();
      used.add(folder);
      // Before the first record of an app there is none that a power cut could take.
      if (isNew && !durable) return replaceSync(path, encodeRecord(record));
      await write().catch(async (error: Error) => {
        if (errorCode(error.cause) !== "ENOENT") throw error;
        ensure();
        await write();
      });
    },
    async remove(record) {
      const folder = folderOf(record.app);
      used.delete(folder);
      await rm(appFolder(layout, folder), { recursive: true, force: true });
    },
  };
}

/** Saves a copy with the run, so that the app can be recovered from its run. */
export function saveRunRecord(runFolder: string, record: AppRecord): void {
  ensureFolderSync(runFolder);
  writeNewSync(copyPath(runFolder), encodeRecord(record));
}

export async function replaceRunRecord(runFolder: string, record: AppRecord): Promise<void> {
  await writeFileAtomic(copyPath(runFolder), encodeRecord(record));
}

/** Reads the copy of a run: its record, or what is wrong with it; neither if there is none. */
export async function readRunRecord(
  runFolder: string,
): Promise<{ record?: AppRecord; problem?: Omit<UnreadableRecord, "folder"> }> {
  const path = copyPath(runFolder);
  try {
    const text = await readIfExists(path);
    return text === undefined ? {} : { record: decodeRecord(text) };
  } catch (error) {
    return { problem: { path, why: describeError(error), isLater: error instanceof LaterRecord } };
  }
}

/** Returns the text of the file: a line with version and checksum, then the record. */
export function encodeRecord(record: AppRecord): string {
  const body = JSON.stringify(record);
  return `nckubelet-record ${version} ${checksum(body)}\n${body}\n`;
}

/** Parses the text of a file; throws an error that says what is wrong with it. */
export function decodeRecord(text: string): AppRecord {
  const [head = "", body = "", ...rest] = text.split("\n");
  const [magic, fileVersion = "", sum] = head.split(" ");
  if (magic !== "nckubelet-record" || rest.length !== 1 || rest[0] !== "") {
    throw new BadRecord("not a record");
  }
  if (sum !== checksum(body)) throw new BadRecord("checksum does not match");
  if (fileVersion !== String(version)) {
    const ErrorType = /^\d{1,4}$/.test(fileVersion) && Number(fileVersion) > version
      ? LaterRecord
      : BadRecord;
    throw new ErrorType(`version ${JSON.stringify(fileVersion.slice(0, 20))} is unknown`);
  }
  try {
    const record = JSON.parse(body);
    if (typeof record?.app?.metadata?.name === "string") return record;
  } catch (cause) {
    throw new BadRecord("a record that is not JSON", { cause });
  }
  throw new BadRecord("a record without an app");
}

const copyPath = (runFolder: string) => join(runFolder, "record.json");

async function loadRecord(
  layout: Layout,
  folder: string,
  { log, now, onUnreadable }: {
    log: Logger;
    now: () => number;
    onUnreadable: (file: UnreadableRecord) => void;
  },
): Promise<AppRecord | undefined> {
  const path = recordPath(layout, folder);
  try {
    const text = await readIfExists(path);
    return text === undefined ? undefined : checkFolder(decodeRecord(text), folder);
  } catch (error) {
    // Invalid content, or a symbolic link in its place. After a read error of the disk the file stays.
    const isBad = error instanceof BadRecord || errorCode(error) === "ELOOP";
    log.warn(isBad ? "setting a state file aside" : "cannot read a state file", {
      path,
      why: describeError(error),
    });
    if (isBad) await setAside(path, `${path}.bad-${now()}`, log);
    else onUnreadable({ folder, path, why: describeError(error), isLater: error instanceof LaterRecord });
    return undefined;
  }
}

function checkFolder(record: AppRecord, folder: string): AppRecord {
  if (folderOf(record.app) === folder) return record;
  const { namespace = "", name } = record.app.metadata;
  throw new BadRecord(`it belongs to ${appKey(namespace, name)}`);
}

async function setAside(path: string, aside: string, log: Logger): Promise<void> {
  await rename(path, aside).catch((cause) => {
    log.error("cannot set a state file aside", { path, why: errorCode(cause) });
  });
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
