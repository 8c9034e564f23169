/** The histories of all apps: a writer that batches what happens, and readers that wait for it. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { appFileName } from "../../api/app-file-name.ts";
import { appKey, splitAppKey } from "../../api/names.ts";
import { inQueue } from "../../lib/deadlines/deadlines.ts";
import { ensureFolder, errorCode } from "../../lib/files.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { waitAtMost } from "../../lib/sleep.ts";
import type { HistoryEntry } from "../../server/view.ts";
import { keptMs, mergeEqual, shorten } from "./entries.ts";
import { addEntries, maxFileBytes, readEntries } from "./history-file.ts";

export interface AppHistory {
  /** Notes what happened to an app; never waits, never throws. */
  add(key: string, entry: Omit<HistoryEntry, "time">): void;
  /** What happened to an app since then, oldest first; with `lastBytes`, of the end of its file only. */
  read(key: string, options?: { since?: number; lastBytes?: number }): Promise<HistoryEntry[]>;
  /** The apps that have a history, also those that were removed. */
  keys(): Promise<string[]>;
  /** Removes the histories of apps that are not among these, if they are too old or too many. */
  prune(known: Iterable<string>): Promise<void>;
  /** Writes what is left, for at most two seconds. */
  close(): Promise<void>;
  /** How many entries were lost. */
  readonly lost: number;
}

export interface AppHistoryOptions {
  folder: string;
  log: Logger;
  now?: () => number;
  /** How long the writer waits for more. */
  delayMs?: number;
}

/** Failed probes may come every second, and are not urgent. */
const probeDelayMs = 15_000;
const maxPending = { perApp: 64, total: 4096 };
const maxRemoved = 100;
/** How long a reader waits for what is about to be written. */
const readWaitMs = 5000;
const suffix = ".jsonl";

export function createAppHistory(
  { folder, log, now = Date.now, delayMs = 1000 }: AppHistoryOptions,
): AppHistory {
  const pending = new Map<string, HistoryEntry[]>();
  let [waiting, lost] = [0, 0];
  let timer: { at: number; handle: NodeJS.Timeout } | undefined;
  let writing: Promise<void> | undefined;
  let failing = false;
  let closed = false;

  const pathOf = (key: string) => {
    const { namespace, name } = splitAppKey(key);
    return join(folder, appFileName(namespace, name) + suffix);
  };

  const writeOne = async (key: string, entries: HistoryEntry[]) => {
    try {
      await inQueue(folder, () =>
        addEntries(pathOf(key), entries, now()).catch(async (error) => {
          if (errorCode(error) !== "ENOENT") throw error;
          await ensureFolder(folder);
          await addEntries(pathOf(key), entries, now());
        }));
      failing = false;
    } catch (error) {
      lost += entries.length;
      if (!failing) log.warn("cannot write the history of apps", { folder, why: describeError(error) });
      failing = true;
    }
  };

  const writeAll = async () => {
    for (const [key, entries] of pending) {
      pending.delete(key);
      waiting -= entries.length;
      await writeOne(key, mergeEqual(entries));
    }
  };

  const flush = () => {
    clearTimeout(timer?.handle);
    timer = undefined;
    return writing ??= writeAll().finally(() => writing = undefined);
  };

  const flushIn = (ms: number) => {
    const at = now() + ms;
    if (timer && timer.at <= at) return;
    clearTimeout(timer?.handle);
    timer = { at, handle: setTimeout(flush, ms).unref() };
  };

  return {
    get lost() {
      return lost;
    },
    add(key, entry) {
      const entries = pending.get(key) ?? [];
      if (closed || entries.length >= maxPending.perApp || waiting >= maxPending.total) {
        lost++;
        return;
      }
      entries.push(shorten({ time: now(), ...entry }));
      waiting++;
      pending.set(key, entries);
      flushIn(entry.reason === "Unhealthy" ? probeDelayMs : delayMs);
    },
    async read(key, { since = now() - keptMs, lastBytes = maxFileBytes } = {}) {
      await waitAtMost(readWaitMs, flush());
      const stored = await inQueue(folder, () => readEntries(pathOf(key), lastBytes));
      return [...stored, ...pending.get(key) ?? []].filter(({ time }) => time >= since);
    },
    async keys() {
      await waitAtMost(readWaitMs, flush());
      const files = await inQueue(folder, () => listFiles(folder));
      return files.filter((file) => file.endsWith(suffix)).map(keyOfFile).sort();
    },
    async prune(known) {
      const owned = new Set([...known].map((key) => pathOf(key)));
      await inQueue(folder, () => removeOld(folder, owned, now()));
    },
    async close() {
      closed = true;
      await waitAtMost(
        2000,
        (async () => {
          await writing;
          await flush();
        })(),
      );
    },
  };
}

/** A name that was too long for a file keeps the digest in its place. */
function keyOfFile(file: string): string {
  const [namespace = "", ...name] = file.slice(0, -suffix.length).split("_");
  return appKey(namespace, name.join("_"));
}

async function listFiles(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error) => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
}

/** Removes what removed apps and unfinished writes left. */
async function removeOld(folder: string, owned: Set<string>, now: number): Promise<void> {
  const others = (await listFiles(folder)).map((file) => join(folder, file)).filter((path) =>
    !owned.has(path)
  );
  const aged: { path: string; at: number }[] = [];
  // One after the other: a disk that hangs takes one thread.
  for (const path of others) aged.push({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 });
  const removed = aged.sort((a, b) => b.at - a.at)
    .filter(({ path, at }, index) => index >= maxRemoved || now - at > keptMs || !path.endsWith(suffix));
  for (const { path } of removed) await rm(path, { force: true });
}
