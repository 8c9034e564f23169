/**
 * Desired apps from a folder of YAML and JSON files: watched, and read again every 20 s whatever the watch says.
 *
 * Guarantees: a file that cannot be read or parsed keeps what it held when it was last good, and is reported; so does a
 * broken object in a file of good ones. Only a file that is gone, or a valid file without the app, removes an app. A folder
 * that cannot be listed removes nothing.
 * Hidden files, editors' backups and other endings are passed over.
 */
import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { formatProblem, type ManifestProblem, maxManifestSize, parseManifests } from "../api/manifest.ts";
import { appKey } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { errorCode } from "../lib/files.ts";
import { sleep } from "../lib/sleep.ts";
import type { DesiredApp, Source, SourceHealth, SourceProblem, SourceSink } from "./source.ts";

export interface DirectoryOptions {
  name?: string;
  rereadMs?: number;
  /** Files are written in several steps: changes within this time are read as one. */
  settleMs?: number;
}

interface GoodFile {
  apps: NCApp[];
}

/** A source that follows the manifests in one folder. */
export function createDirectorySource(
  folder: string,
  { name = "manifests", rereadMs = 20_000, settleMs = 50 }: DirectoryOptions = {},
): Source {
  let good = new Map<string, GoodFile>();
  let health: SourceHealth = { ready: false, message: "not read yet", since: new Date() };

  const setHealth = (ready: boolean, message: string) => {
    if (health.ready !== ready || health.message !== message) health = { ready, message, since: new Date() };
  };

  /** One reading of the whole folder. */
  const readOnce = async (sink: SourceSink) => {
    let files: string[];
    try {
      files = (await readdir(folder)).filter(isManifestName).sort();
    } catch (error) {
      const message = `cannot list ${folder}: ${errorCode(error)}`;
      setHealth(false, message);
      return sink.trouble([{ message, origin: folder }]);
    }
    const problems: SourceProblem[] = [];
    const next = new Map<string, GoodFile>();
    for (const file of files) {
      const before = good.get(file);
      const read = await readManifestFile(join(folder, file), folder);
      problems.push(...read.problems.map((problem) => ({ ...problem, origin: join(folder, file) })));
      next.set(file, mergeWithLastGood(read, before));
    }
    good = next;
    sink.replace(
      [...good].flatMap(([file, { apps }]) => apps.map((app) => desired(app, name, join(folder, file)))),
    );
    sink.trouble(problems);
    setHealth(
      true,
      problems.length === 0 ? `${good.size} files read` : `${problems.length} problems in ${folder}`,
    );
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

/** Whether a file in the folder is meant: not an editor's temporary, not hidden. */
export function isManifestName(file: string): boolean {
  return /^[^.#~].*\.(ya?ml|json)$/.test(file);
}

interface FileReading {
  apps: NCApp[];
  problems: SourceProblem[];
  /** Apps named by broken objects, and whether some broken object could not even be named. */
  broken: Set<string>;
  unreadable: boolean;
}

async function readManifestFile(path: string, baseDir: string): Promise<FileReading> {
  try {
    const { size } = await stat(path);
    if (size > maxManifestSize) {
      return unreadable(
        `${path}: ${size} bytes is more than the ${maxManifestSize} that a manifest may have`,
      );
    }
    const { apps, problems } = parseManifests(await readFile(path, "utf8"), path, { baseDir });
    return {
      apps: apps.map(({ app }) => app),
      problems: problems.map((problem) => ({ message: formatProblem(problem), field: problem.field })),
      broken: new Set(problems.flatMap(({ app }) => app ?? [])),
      unreadable: problems.some(isUnnamed),
    };
  } catch (error) {
    return unreadable(`${path}: cannot be read: ${errorCode(error)}`);
  }
}

function unreadable(message: string): FileReading {
  return { apps: [], problems: [{ message }], broken: new Set(), unreadable: true };
}

function isUnnamed({ app }: ManifestProblem): boolean {
  return app === undefined;
}

/** What a file wants now: what is good in it, and for what is broken the last good version. */
function mergeWithLastGood(
  { apps, broken, unreadable }: FileReading,
  before: GoodFile | undefined,
): GoodFile {
  const fresh = new Set(apps.map(nameOf));
  const kept = (before?.apps ?? []).filter((app) => {
    const key = nameOf(app);
    return !fresh.has(key) && (broken.has(key) || unreadable);
  });
  return { apps: [...apps, ...kept] };
}

/** Local apps have no API server to give them a uid: name and file make one that stays the same over restarts. */
function desired(app: NCApp, source: string, origin: string): DesiredApp {
  const uid = createHash("sha256").update(`${source}\0${origin}\0${nameOf(app)}`).digest("hex").slice(0, 32);
  return { app: { ...app, metadata: { ...app.metadata, uid } }, source, origin };
}

function nameOf({ metadata }: NCApp): string {
  return appKey(metadata.namespace ?? "default", metadata.name);
}

function watchFolder(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(folder, onChange).on("error", onChange);
  } catch {
    // Not there, or no watches left: the next reading tells.
    return undefined;
  }
}
