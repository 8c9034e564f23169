/**
 * Desired apps from a folder of YAML and JSON files: watched, and read again every 20 s even without an event.
 *
 * Guarantees: a file that cannot be read or parsed keeps its last valid apps and is reported; so does a broken object among
 * valid ones. Only a deleted file, or a valid file without the app, removes an app. A folder that cannot be listed removes
 * nothing.
 * Hidden files, editors' backups and files with other suffixes are ignored.
 */
import { hash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { maxManifestSize } from "../api/manifest/manifest.ts";
import type { NCApp } from "../api/types.ts";
import { errorCode } from "../lib/files.ts";
import { sleep } from "../lib/sleep.ts";
import {
  describeSkipped,
  localApp,
  type ManifestReading,
  mergeWithLastGood,
  readManifests,
  unreadable,
} from "./manifest-reading.ts";
import {
  type LastKnown,
  type Source,
  type SourceHealth,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

export interface DirectoryOptions {
  name?: string;
  rereadMs?: number;
  /** Editors write files in several steps: changes within this time are read as one. */
  settleMs?: number;
  /** The apps of this source as an earlier agent knew them. */
  lastKnown?: () => LastKnown[];
}

export function createDirectorySource(
  folder: string,
  { name = sourceNames.manifests, rereadMs = 20_000, settleMs = 50, lastKnown = () => [] }: DirectoryOptions =
    {},
): Source {
  let good: Map<string, NCApp[]> | undefined;
  let readings = new Map<string, FileReading>();
  /** A file that is broken when the agent starts was valid once: the agent's records have the apps from then. */
  const knownFrom = (path: string) =>
    good ? [] : lastKnown().filter(({ origin }) => origin === path).map(({ app }) => app);
  let health: SourceHealth = { ready: false, message: "not read yet", since: new Date() };

  const setHealth = (ready: boolean, message: string) => {
    if (health.ready !== ready || health.message !== message) health = { ready, message, since: new Date() };
  };

  const readOnce = async (sink: SourceSink) => {
    let files: string[];
    try {
      files = (await readdir(folder)).filter(isManifestName).sort();
    } catch (error) {
      const message = `cannot list ${folder}: ${errorCode(error)}`;
      setHealth(false, message);
      return sink.reportProblems([{ message, origin: folder }]);
    }
    const problems: SourceProblem[] = [];
    const next = new Map<string, NCApp[]>();
    const nextReadings = new Map<string, FileReading>();
    for (const path of files.map((file) => join(folder, file))) {
      nextReadings.set(path, await readManifestFile(path, folder, readings.get(path)));
    }
    // After a failed listing the reported problem has to be withdrawn.
    if (health.ready && isSame(readings, nextReadings)) return;
    for (const [path, reading] of nextReadings) {
      problems.push(...reading.problems);
      next.set(path, mergeWithLastGood(reading, good?.get(path) ?? knownFrom(path)));
    }
    good = next;
    readings = nextReadings;
    sink.replace([...good].flatMap(([path, apps]) => apps.map((app) => localApp(app, name, path))));
    sink.reportProblems(problems);
    const summary = problems.length > 0 && `${problems.length} problems in ${folder}`;
    const skipped = nextReadings.values().reduce((sum, reading) => sum + reading.skipped, 0);
    setHealth(true, (summary || `${good.size} files read`) + describeSkipped(skipped));
  };

  return {
    name,
    health: () => health,
    async run(sink, signal) {
      while (!signal.aborted) {
        const changed = new AbortController();
        const watcher = watchFolder(folder, () => changed.abort());
        await readOnce(sink);
        await sleep(rereadMs, AbortSignal.any([signal, changed.signal]));
        watcher?.close();
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
}

function isSame(before: Map<string, FileReading>, after: Map<string, FileReading>): boolean {
  return before.size === after.size && [...after].every(([path, reading]) => before.get(path) === reading);
}

/** Reads a file. An unchanged one is not parsed again, since hundreds of apps take a while. */
async function readManifestFile(path: string, baseDir: string, before?: FileReading): Promise<FileReading> {
  try {
    const { size } = await stat(path);
    if (size > maxManifestSize) {
      return unreadable(`${path}: ${size} bytes exceed the limit of ${maxManifestSize}`, path);
    }
    const text = await readFile(path, "utf8");
    const digest = hash("sha256", text);
    return before?.digest === digest ? before : { ...readManifests(text, path, baseDir), digest };
  } catch (error) {
    return unreadable(`${path}: cannot read: ${errorCode(error)}`, path);
  }
}

function watchFolder(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(folder, onChange).on("error", onChange);
  } catch {
    // The folder is missing, or no inotify watch is available: the next read reports it.
    return undefined;
  }
}
