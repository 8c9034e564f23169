/**
 * How much of an app's log is kept: the app's annotations override the agent's setting.
 *
 * Launchers keep the limits. They read them from a file in the log folder, when they start and while they write, so that they change
 * without a restart. A log with the usual limits needs no file.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { quote } from "../../api/field-error.ts";
import { annotations, keyOf, usualLog } from "../../api/names.ts";
import { inQueue } from "../../lib/deadlines/deadlines.ts";
import { readIfExists, writeFileAtomic } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { folderOf, type Layout, logFolder } from "../layout.ts";
import type { RunnableApp } from "../types.ts";

export interface LogLimits {
  /** The most that a part of the log takes, with its index. */
  maxBytes: number;
  /** The most parts. */
  maxFiles: number;
}

const units: Record<string, number> = {
  "": 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Returns the limits of an app. An invalid annotation is ignored, and `problem` says why. Pure. */
export function logLimitsOf(
  app: RunnableApp,
  standard: LogLimits,
): { limits: LogLimits; problem?: string } {
  const given = app.metadata.annotations ?? {};
  const [size, files] = [given[annotations.logMaxSize], given[annotations.logMaxFiles]];
  try {
    const maxBytes = size === undefined ? standard.maxBytes : parseBytes(size);
    const maxFiles = files === undefined ? standard.maxFiles : parseCount(files);
    return { limits: { maxBytes, maxFiles } };
  } catch (error) {
    return { limits: standard, problem: (error as Error).message };
  }
}

/** Parses a size such as `10Mi` or `500K`, at least 64 KiB. */
export function parseBytes(text: string): number {
  const match = /^(\d{1,12})(|K|M|G|Ki|Mi|Gi)$/.exec(text);
  const bytes = Number(match?.[1]) * (units[match?.[2] ?? ""] ?? NaN);
  if (!(bytes >= 65_536 && Number.isSafeInteger(bytes))) {
    throw new Error(`${quote(text)} is not a size of 64Ki or more, such as 10Mi`);
  }
  return bytes;
}

export function parseCount(text: string): number {
  if (!/^([1-9]\d{0,2}|1000)$/.test(text)) {
    throw new Error(`${quote(text)} is not a number of files from 1 to 1000`);
  }
  return Number(text);
}

/** What launchers assume without a file. */
const usualLimits = { maxBytes: parseBytes(usualLog.maxSize), maxFiles: parseCount(usualLog.maxFiles) };

/** The files that tell launchers the limits of their logs. */
export class LimitFiles {
  readonly #options: { layout: Layout; logs: LogLimits; log: Logger };
  /** What this agent has written to the files of its apps. */
  readonly #written = new Map<string, string>();

  constructor(options: { layout: Layout; logs: LogLimits; log: Logger }) {
    this.#options = options;
  }

  /** Writes the limits of an app that starts or is adopted, unless its file has them; a log folder that `isNew` has none. Never throws. */
  async write(app: RunnableApp, { isNew = false } = {}): Promise<void> {
    const { layout } = this.#options;
    const path = limitsPath(layout, folderOf(app));
    // Somebody may have removed the folder, and a launcher created it again.
    const read = () => inQueue(layout.logDir, () => readIfExists(path), { path }).catch(() => undefined);
    await this.#change(app, isNew ? "" : await read() ?? "");
  }

  /** Follows a change of an app that this agent has started or adopted. */
  update(app: RunnableApp): void {
    const before = this.#written.get(folderOf(app));
    if (before !== undefined) void this.#change(app, before);
  }

  forget(folder: string): void {
    this.#written.delete(folder);
  }

  async #change(app: RunnableApp, before: string): Promise<void> {
    const { layout, logs, log } = this.#options;
    const folder = folderOf(app);
    const { limits: { maxBytes, maxFiles }, problem } = logLimitsOf(app, logs);
    const isUsual = maxBytes === usualLimits.maxBytes && maxFiles === usualLimits.maxFiles;
    const text = isUsual ? "" : `${maxBytes} ${maxFiles}\n`;
    this.#written.set(folder, text);
    if (before === text) return;
    if (problem) log.warn("ignoring an invalid log annotation", { app: keyOf(app), why: problem });
    const path = limitsPath(layout, folder);
    const write = () => text ? writeFileAtomic(path, text, { mode: 0o640 }) : rm(path, { force: true });
    await inQueue(layout.logDir, write, { path }).catch((error) => {
      this.#written.delete(folder);
      log.warn("cannot change the limits of a log", { app: keyOf(app), error });
    });
  }
}

const limitsPath = (layout: Layout, folder: string) => join(logFolder(layout, folder), ".limits");
