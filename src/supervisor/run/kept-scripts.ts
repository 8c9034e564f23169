/**
 * The scripts that versions of an app were started with, so that an earlier version can come back after its file has changed.
 *
 *   <state>/versions/<app>/<sha256>   the content, 0600
 *
 * Guarantees: a script is on disk before a run of it starts, and its content is checked against its name before it is used. Only the
 * versions that the record names stay, and the one that starts. Scripts beyond `maxKeptBytes`, and programs, are not kept.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensureFolder, writeFileAtomic } from "../../lib/files.ts";
import { type Layout, versionsFolder } from "../layout.ts";

/** Keeps a script, and removes those that are not needed any more. */
export async function keepScript(
  layout: Layout,
  folder: string,
  { digest, content, keep }: { digest: string; content: Uint8Array; keep: string[] },
): Promise<void> {
  const path = versionsFolder(layout, folder);
  await ensureFolder(path);
  if (!await readKeptScript(layout, folder, digest)) await writeFileAtomic(join(path, digest), content);
  const wanted = [...keep, digest];
  for (const name of await readdir(path)) {
    if (!wanted.includes(name)) await rm(join(path, name), { force: true });
  }
}

/** Returns the script with this digest; undefined if it is not there, or not intact. */
export async function readKeptScript(
  layout: Layout,
  folder: string,
  digest: string,
): Promise<Uint8Array | undefined> {
  const content = await readFile(join(versionsFolder(layout, folder), digest)).catch(() => undefined);
  const isIntact = content && createHash("sha256").update(content).digest("hex") === digest;
  return isIntact ? content : undefined;
}
