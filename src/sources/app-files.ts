/**
 * Apps on disk, one JSON file each, in a private folder.
 *
 * Guarantees: a file is replaced whole or not at all. A file whose content does not match its name is never taken for an app.
 */
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { appFileName } from "../api/app-file-name.ts";
import { isSafeUid, keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { validateNCApp } from "../api/validate/validate.ts";
import { ensureFolder, readIfExists, writeFileAtomic } from "../lib/files.ts";
import { describeError } from "../lib/log.ts";
import type { SourceProblem } from "./source.ts";

/** Reads all apps of a folder. A broken file is a problem, and is replaced by its app in `lastKnown` if there is one. */
export async function readAppFiles(
  folder: string,
  lastKnown: NCApp[],
): Promise<{ apps: NCApp[]; problems: SourceProblem[] }> {
  await ensureFolder(folder);
  const apps: NCApp[] = [];
  const problems: SourceProblem[] = [];
  for (const file of (await readdir(folder)).sort()) {
    const path = join(folder, file);
    if (/^\..*\.tmp$/.test(file)) {
      // A crash before the rename: the client got no answer.
      await rm(path, { force: true });
      continue;
    }
    const read = await readApp(path, file).catch((error) => describeError(error));
    if (typeof read !== "string") {
      apps.push(read);
      continue;
    }
    const known = lastKnown.find((app) => fileNameOf(app) === file);
    if (known) apps.push(known);
    const consequence = known ? "the app keeps its last spec" : "nothing runs from it";
    problems.push({ message: `${path}: ${read}; ${consequence}`, origin: path });
  }
  return { apps, problems };
}

export async function writeAppFile(folder: string, app: NCApp): Promise<void> {
  await writeFileAtomic(join(folder, fileNameOf(app)), `${JSON.stringify(app, null, 2)}\n`);
}

/** Removes the file of an app, also from the disk: it must not come back after a power loss. */
export async function removeAppFile(folder: string, app: NCApp): Promise<void> {
  await rm(join(folder, fileNameOf(app)), { force: true });
  await using handle = await open(folder);
  await handle.sync();
}

export function fileNameOf({ metadata: { namespace = "", name } }: Pick<NCApp, "metadata">): string {
  return `${appFileName(namespace, name)}.json`;
}

function parseJSON(text: string): NCApp {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, including control characters.
    throw new Error("it is not JSON");
  }
}

async function readApp(path: string, file: string): Promise<NCApp> {
  const object = parseJSON(await readIfExists(path) ?? "");
  // An unknown field was written by a newer agent.
  const [error] = validateNCApp(object).filter(({ reason }) => reason !== "FieldUnknown");
  if (error) throw new Error(error.message);
  if (!isSafeUid(object.metadata.uid ?? "")) throw new Error("metadata.uid is missing");
  if (fileNameOf(object) !== file) {
    throw new Error(`it describes ${keyOf(object)}`);
  }
  return object;
}
