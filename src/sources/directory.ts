/**
 * Desired apps from a folder of YAML and JSON files: watched, and read again every 20 s even without an event.
 *
 * Guarantees: a file that cannot be read or parsed keeps its last valid apps and is reported; so does a broken object among
 * valid ones. Only a deleted file, or a valid file without the app, removes an app. A folder that cannot be listed removes
 * nothing. A folder on a mount that hangs blocks one thread, and the source reports it.
 * Only regular files are read. Hidden files, editors' backups and files with other suffixes are ignored.
 * Secrets and ConfigMaps of the folder serve its apps (folder-values.ts). A Secret that other users can read is refused.
 */
import { hash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { constants, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { maxManifestSize } from "../api/manifest/manifest.ts";
import { FileTimeoutError, inQueue, isRemoteFileSystem, whenItAnswers } from "../lib/deadlines/deadlines.ts";
import { errorCode, explainFileError, explainPathError } from "../lib/files.ts";
import type { Pulse } from "../lib/pulse.ts";
import { sleep } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";
import { type FolderValues, uniteHolders } from "./folder-values.ts";
import {
  describeSkipped,
  type FolderHolder,
  holdersWithLastGood,
  localApp,
  type ManifestPlace,
  type ManifestReading,
  mergeWithLastGood,
  pluralize,
  type ReadApp,
  readManifests,
  unreadable,
} from "./manifest-reading.ts";
import {
  createHealth,
  type LastKnown,
  type Source,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

const name = sourceNames.manifests;

export interface DirectoryOptions {
  rereadMs?: number;
  /** Editors write files in several steps: changes within this time are read as one. */
  settleMs?: number;
  /** The apps of this source as an earlier agent knew them. */
  lastKnown?: () => LastKnown[];
  now?: () => number;
  /** Gets the Secrets and ConfigMaps of the folder. */
  values?: FolderValues;
  /** Beats when the folder is to be read again at once. */
  reloads?: Pulse;
}

/** A read is overdue after this many periods, and the time that it may take. */
const overduePeriods = 3;
const readMs = 5000;

export function createDirectorySource(
  folder: string,
  {
    rereadMs = 20_000,
    settleMs = 50,
    lastKnown = () => [],
    now = steadyNow,
    values,
    reloads,
  }: DirectoryOptions = {},
): Source {
  let good: Map<string, ReadApp[]> | undefined;
  let goodHolders = new Map<string, FolderHolder[]>();
  let readings = new Map<string, FileReading>();
  /** A file that is broken when the agent starts was valid once: the agent's records have the apps from then. */
  const knownFrom = (path: string) =>
    good ? [] : lastKnown().filter(({ origin }) => origin === path).map(({ app }) => app);
  const health = createHealth("not read yet");
  let completeAt: number | undefined;

  const readOnce = async (sink: SourceSink, signal: AbortSignal) => {
    let files: string[];
    try {
      files = (await inQueue(folder, () => readdir(folder), { signal })).filter(isManifestName).sort();
    } catch (error) {
      if (signal.aborted) return;
      const message = error instanceof FileTimeoutError
        ? error.message
        : `cannot list ${folder}: ${folderErrors[errorCode(error)] ?? explainFileError(error)}`;
      health.set(false, message);
      return sink.reportProblems([{ message, origin: folder }]);
    }
    const problems: SourceProblem[] = [];
    const next = new Map<string, ReadApp[]>();
    const nextReadings = new Map<string, FileReading>();
    for (const path of files.map((file) => join(folder, file))) {
      nextReadings.set(path, await readManifestFile(path, folder, signal, readings.get(path)));
      if (signal.aborted) return;
    }
    const late = nextReadings.values().find(({ timedOut }) => timedOut);
    if (!late) completeAt = now();
    // After a failed read the reported problem has to be withdrawn.
    if (health.get().ready && !late && isSame(readings, nextReadings)) return;
    for (const [path, reading] of nextReadings) {
      problems.push(...reading.problems);
      next.set(path, mergeWithLastGood(reading, good?.get(path)?.map(({ app }) => app) ?? knownFrom(path)));
    }
    good = next;
    goodHolders = new Map(
      nextReadings.entries().map((
        [path, reading],
      ) => [path, holdersWithLastGood(reading, goodHolders.get(path) ?? [])]),
    );
    readings = nextReadings;
    const { holders, conflicts } = uniteHolders(goodHolders);
    problems.push(...conflicts);
    values?.replace(holders);
    sink.replace([...good].flatMap(([path, apps]) => apps.map((app) => localApp(app, name, path))));
    sink.reportProblems(problems);
    if (late) return health.set(false, late.problems[0]?.message ?? "");
    const summary = problems.length > 0 && `${pluralize(problems.length, "problem")} in ${folder}`;
    const skipped = nextReadings.values().reduce((sum, reading) => sum + reading.skipped, 0);
    health.set(true, (summary || `${pluralize(good.size, "file")} read`) + describeSkipped(skipped));
  };

  return {
    name,
    health() {
      const age = now() - (completeAt ?? now());
      if (health.get().ready && age > overduePeriods * rereadMs + readMs) {
        health.set(false, `${folder} was last read ${Math.round(age / 1000)} s ago`);
      }
      return health.get();
    },
    async run(sink, signal) {
      while (!signal.aborted) {
        const changed = new AbortController();
        const onChange = () => changed.abort();
        const cancel = reloads?.onNext(onChange);
        const watcher = await watchFolder(folder, onChange, signal);
        await readOnce(sink, signal);
        void whenItAnswers(folder)?.then(onChange);
        await sleep(rereadMs, AbortSignal.any([signal, changed.signal]));
        watcher?.close();
        cancel?.();
        if (changed.signal.aborted) await sleep(settleMs, signal);
      }
    },
  };
}

/** Reports whether a file is a manifest: not hidden, not an editor's temporary file. */
export function isManifestName(file: string): boolean {
  return /^[^.#~].*\.(ya?ml|json)$/.test(file);
}

interface FileReading extends ManifestReading {
  /** Digest of the text; absent if the file could not be read. */
  digest?: string;
  timedOut?: boolean;
}

function isSame(before: Map<string, FileReading>, after: Map<string, FileReading>): boolean {
  return before.size === after.size && [...after].every(([path, reading]) => before.get(path) === reading);
}

/** Reads a file. If it has not changed, returns the earlier reading: hundreds of apps take a while to parse. */
async function readManifestFile(
  path: string,
  folder: string,
  signal: AbortSignal,
  before?: FileReading,
): Promise<FileReading> {
  const failed = (why: string, timedOut = false): FileReading =>
    before?.problems[0]?.message === why && before.digest === undefined && before.timedOut === timedOut
      ? before
      : { ...unreadable(why, path), timedOut };
  try {
    const read = await inQueue(folder, () => readText(path), { path, signal });
    if ("problem" in read) return failed(`${path}: ${read.problem}`);
    const { text, file } = read;
    // Owner and mode decide about Secrets.
    const digest = hash("sha256", `${file.uid} ${file.mode} ${text}`);
    return before?.digest === digest
      ? before
      : { ...readManifests(text, path, { baseDir: folder, file }), digest };
  } catch (error) {
    if (error instanceof FileTimeoutError) return failed(error.message, true);
    const explain = () => explainPathError(path, error);
    const why = await inQueue(folder, explain, { path, signal }).catch(() => explainFileError(error));
    return failed(`${path}: ${why}`);
  }
}

async function readText(
  path: string,
): Promise<{ text: string; file: ManifestPlace["file"] } | { problem: string }> {
  // Without O_NONBLOCK, opening a FIFO blocks until a process writes to it.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const info = await file.stat();
  if (!info.isFile()) return { problem: "not a regular file" };
  if (info.size > maxManifestSize) {
    return { problem: `${info.size} bytes exceed the limit of ${maxManifestSize}` };
  }
  return { text: await file.readFile("utf8"), file: { uid: info.uid, mode: info.mode } };
}

/** Undefined without a watch: the folder is missing, hangs or is remote, or no inotify watch is available. It is still read regularly. */
async function watchFolder(
  folder: string,
  onChange: () => void,
  signal: AbortSignal,
): Promise<FSWatcher | undefined> {
  try {
    if (await inQueue(folder, () => isRemoteFileSystem(folder), { signal })) return undefined;
    return watch(folder, onChange).on("error", onChange);
  } catch {
    return undefined;
  }
}

/** What keeps a folder from being listed, where the words for files would mislead. */
const folderErrors: Record<string, string | undefined> = {
  ENOENT: "no such folder: create it, or correct --manifests",
  ENOTDIR: "not a folder",
};
