/**
 * Lost apps: only their folders remain because all their records were damaged.
 *
 * If a source still lists the app, the app uses its folders again. If none does, the app was deleted meanwhile, and its log and
 * damaged records are removed, as with any deletion.
 * Guarantees: a folder with any other file stays, such as a record that cannot be read now or that a later version wrote. Each folder is
 * checked and removed synchronously, so that an app created at that moment loses nothing.
 */
import { readdirSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { isHung } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { appFolder, appsFolder, folderOf, type Layout, logFolder, versionsFolder } from "../layout.ts";
import type { RunnableApp } from "../types.ts";

export class LostApps {
  readonly #layout: Layout;
  readonly #log: Logger;
  #folders: string[] = [];

  constructor(layout: Layout, log: Logger) {
    this.#layout = layout;
    this.#log = log;
  }

  get any(): boolean {
    return this.#folders.length > 0;
  }

  /** Finds the folders of apps that are neither known nor on hold. */
  async find(known: RunnableApp[], holds: Iterable<string> = []): Promise<void> {
    const owned = new Set([...known.map(folderOf), ...holds]);
    const folders = await readdir(appsFolder(this.#layout));
    this.#folders = folders.filter((folder) => folder.includes("_") && !owned.has(folder));
  }

  /** Removes the lost apps that are not among `apps`: all apps with a record and all that sources list. */
  removeAllBut(apps: RunnableApp[]): void {
    const owned = new Set(apps.map(folderOf));
    this.#folders = this.#folders.filter((folder) => owned.has(folder) || !this.#remove(folder));
  }

  /** Reports whether the folder is done: removed, or not to be removed. */
  #remove(folder: string): boolean {
    const path = appFolder(this.#layout, folder);
    // It would block the agent.
    if (isHung(this.#layout.logDir)) return false;
    try {
      if (!readdirSync(path).every(isLeftOver)) return true;
      this.#log.warn("removing the remains of an app without a valid record that no source lists", { path });
      for (const each of [logFolder(this.#layout, folder), versionsFolder(this.#layout, folder), path]) {
        rmSync(each, { recursive: true, force: true });
      }
      return true;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return true;
      this.#log.warn("cannot remove the remains of an app", { path, error });
      return false;
    }
  }
}

/** Damaged records that were set aside, and unfinished writes. */
function isLeftOver(file: string): boolean {
  return file.startsWith("record.json.bad-") || file.startsWith(".record.json.");
}
