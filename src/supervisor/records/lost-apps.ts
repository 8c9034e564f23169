/**
 * Apps of which only folders are left, since every record of them was damaged.
 *
 * One that a source wants comes back and has its folders again. One that nobody wants was deleted while nobody knew it: its log and what
 * was set aside of its records go, as they would have with its deletion.
 * Guarantees: a folder with anything else in it, such as a record that a disk does not give or that a later program wrote, stays. Each folder is judged and removed in
 * one go, so that nothing of an app that begins its life at that moment is lost.
 */
import { readdirSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { appFolder, appsFolder, folderOf, type Layout, logFolder } from "../layout.ts";
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

  /** Finds the folders that are of none of these apps. */
  async find(known: RunnableApp[]): Promise<void> {
    const theirs = new Set(known.map(folderOf));
    const folders = await readdir(appsFolder(this.#layout));
    this.#folders = folders.filter((folder) => folder.includes("_") && !theirs.has(folder));
  }

  /** Removes what is left of those that are none of these apps: all that are known and all that are wanted. */
  removeAllBut(apps: RunnableApp[]): void {
    const theirs = new Set(apps.map(folderOf));
    this.#folders = this.#folders.filter((folder) => theirs.has(folder) || !this.#remove(folder));
  }

  /** Whether it need not be looked at again. */
  #remove(folder: string): boolean {
    const path = appFolder(this.#layout, folder);
    try {
      if (!readdirSync(path).every(isLeftOver)) return true;
      this.#log.warn("removing what is left of an app that no record knows and nobody wants", { path });
      for (const each of [logFolder(this.#layout, folder), path]) {
        rmSync(each, { recursive: true, force: true });
      }
      return true;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return true;
      this.#log.warn("cannot remove what is left of an app", { path, error });
      return false;
    }
  }
}

/** Records that were set aside, and those that an agent died over while it wrote them. */
function isLeftOver(file: string): boolean {
  return file.startsWith("record.json.bad-") || file.startsWith(".record.json.");
}
