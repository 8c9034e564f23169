/**
 * Desired apps from the agent's unix socket (`nckubelet run|apply|delete`), stored on disk: one file per app.
 *
 * Guarantees: a change is on disk before it is reported or answered, so it survives a crash. Changes are made one after the
 * other. An unusable file is reported, and its app keeps the spec of the agent's records; other files are not affected. A folder
 * that cannot be listed removes nothing, and accepts no change until it can.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { annotations, keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { errorCode } from "../lib/files.ts";
import { sleep } from "../lib/sleep.ts";
import { isoSeconds } from "../lib/time.ts";
import { fileNameOf, readAppFiles, removeAppFile, writeAppFile } from "./app-files.ts";
import { pluralize } from "./manifest-reading.ts";
import {
  createHealth,
  type LastKnown,
  type Source,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

const name = sourceNames.socket;

/** What an app that is put changes. */
export type Change = "created" | "configured" | "unchanged";

export interface SocketSource extends Source {
  get(key: string): NCApp | undefined;
  /** Resolves when the apps on disk have been read; rejects while they cannot be. */
  opened(): Promise<void>;
  /**
   * Stores a valid app, unless it is a dry run. It replaces one with the same name, and keeps that one's uid and last restart.
   * Resolves to the app as stored.
   */
  put(app: NCApp, options?: { dryRun?: boolean }): Promise<{ change: Change; app: NCApp }>;
  /** Changes a stored app; resolves to false if there is none. */
  edit(key: string, change: (app: NCApp) => NCApp): Promise<boolean>;
  /** Removes an app; resolves to false if there is none. */
  remove(key: string): Promise<boolean>;
}

export interface SocketOptions {
  /** The apps of this source in the agent's records, for broken files. */
  lastKnown?: () => Pick<LastKnown, "app">[];
  retryMs?: number;
  now?: () => number;
}

/** Returns a source whose apps are in `folder`. Changes wait until `run` has read it. */
export function createSocketSource(
  folder: string,
  { lastKnown = () => [], retryMs = 5000, now = Date.now }: SocketOptions = {},
): SocketSource {
  const apps = new Map<string, NCApp>();
  const opened = Promise.withResolvers<SourceSink>();
  let problems: SourceProblem[] = [];
  let refusal = "";
  const health = createHealth("not read yet");
  let queue: Promise<unknown> = Promise.resolve();

  const desired = (app: NCApp) => ({ app, source: name, origin: join(folder, fileNameOf(app)) });

  /** Reads the whole folder; resolves to false if that fails. */
  const readOnce = async (sink: SourceSink): Promise<boolean> => {
    const read = await readAppFiles(folder, lastKnown().map(({ app }) => app)).catch((error) =>
      `cannot read ${folder}: ${errorCode(error)}`
    );
    if (typeof read === "string") {
      refusal = read;
      health.set(false, read);
      sink.reportProblems([{ message: read, origin: folder }]);
      return false;
    }
    for (const app of read.apps) apps.set(keyOf(app), app);
    sink.replace([...apps.values()].map(desired));
    report(read.problems, sink);
    return true;
  };
  const report = (now: SourceProblem[], sink: SourceSink) => {
    problems = now;
    sink.reportProblems(problems);
    health.set(
      true,
      problems.length === 0
        ? "following the socket"
        : `${pluralize(problems.length, "problem")} in ${folder}`,
    );
  };
  /** Drops the problems of an app's file after it was written or removed. */
  const clearProblems = (app: NCApp, sink: SourceSink) => {
    const { origin } = desired(app);
    if (problems.some((problem) => problem.origin === origin)) {
      report(problems.filter((problem) => problem.origin !== origin), sink);
    }
  };

  const open = (): Promise<SourceSink> => refusal ? Promise.reject(new Error(refusal)) : opened.promise;
  const enqueue = <T>(work: (sink: SourceSink) => Promise<T>): Promise<T> => {
    const result = queue.then(open).then(work);
    queue = result.catch(() => {});
    return result;
  };
  const store = async (app: NCApp, sink: SourceSink) => {
    await writeAppFile(folder, app);
    apps.set(keyOf(app), app);
    sink.upsert(desired(app));
    clearProblems(app, sink);
  };

  return {
    name,
    health: health.get,
    get: (key) => apps.get(key),
    opened: async () => void await open(),
    async run(sink, signal) {
      while (!signal.aborted && !await readOnce(sink)) await sleep(retryMs, signal);
      if (signal.aborted) return;
      refusal = "";
      opened.resolve(sink);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    put: (app, { dryRun = false } = {}) =>
      enqueue(async (sink) => {
        const before = apps.get(keyOf(app));
        const next = successor(app, before, now());
        const isSame = isDeepStrictEqual(next, before);
        if (!dryRun && !isSame) await store(next, sink);
        return { change: before === undefined ? "created" : isSame ? "unchanged" : "configured", app: next };
      }),
    edit: (key, change) =>
      enqueue(async (sink) => {
        const before = apps.get(key);
        if (before) await store(successor(change(before), before, now()), sink);
        return before !== undefined;
      }),
    remove: (key) =>
      enqueue(async (sink) => {
        const before = apps.get(key);
        if (!before) return false;
        await removeAppFile(folder, before);
        apps.delete(key);
        sink.remove(key, before.metadata.uid ?? "");
        clearProblems(before, sink);
        return true;
      }),
  };
}

/** Returns the app to store after `before`, with the metadata that an API server would fill in. */
function successor(
  { apiVersion, kind, metadata, spec }: NCApp,
  before: NCApp | undefined,
  now: number,
): NCApp {
  const { name, namespace, labels } = metadata;
  const old = before?.metadata;
  const generation = (old?.generation ?? 0) + (isDeepStrictEqual(spec, before?.spec) ? 0 : 1);
  const restartedAt = old?.annotations?.[annotations.restartedAt];
  // A manifest has no restart annotation: without this, applying it again would restart the app.
  const notes = { ...(restartedAt && { [annotations.restartedAt]: restartedAt }), ...metadata.annotations };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid: old?.uid ?? randomUUID(),
      generation,
      creationTimestamp: old?.creationTimestamp ?? isoSeconds(now),
      ...(labels && { labels }),
      ...(Object.keys(notes).length > 0 && { annotations: notes }),
    },
    spec,
  };
}
