/**
 * Desired apps from the agent's unix socket (`nckubelet run|apply|delete`), kept on disk: one file per app.
 *
 * Guarantees: a change is on disk before anybody hears of it, so what was answered for survives a crash. Changes are made
 * one after the other. A file that cannot be used keeps what the agent last knew of its app and is reported; the other
 * files are not touched by it. A folder that cannot be listed removes nothing, and takes no change until it can.
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
import {
  type DesiredApp,
  type LastKnown,
  type Source,
  type SourceHealth,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

export interface SocketSource extends Source {
  /** The app as it is kept. */
  get(key: string): NCApp | undefined;
  /** Resolves when the apps on disk are known; rejects while they cannot be read. */
  opened(): Promise<void>;
  /** Keeps a valid app, in place of one with the same name; that one's uid and last restart stay. */
  put(app: NCApp): Promise<{ created: boolean }>;
  /** Changes an app that is kept; false where there is none. */
  edit(key: string, change: (app: NCApp) => NCApp): Promise<boolean>;
  /** Gives an app up; false where there is none. */
  remove(key: string): Promise<boolean>;
}

export interface SocketOptions {
  name?: string;
  /** The apps of this source as the agent ran them last, for those whose file is broken. */
  lastKnown?: () => Pick<LastKnown, "app">[];
  retryMs?: number;
  now?: () => number;
}

/** A source whose apps are in `folder`. Changes wait until `run` has read it. */
export function createSocketSource(
  folder: string,
  { name = sourceNames.socket, lastKnown = () => [], retryMs = 5000, now = Date.now }: SocketOptions = {},
): SocketSource {
  const apps = new Map<string, NCApp>();
  const opened = Promise.withResolvers<SourceSink>();
  let problems: SourceProblem[] = [];
  let refusal = "";
  let health: SourceHealth = { ready: false, message: "not read yet", since: new Date(now()) };
  let queue: Promise<unknown> = Promise.resolve();

  const setHealth = (ready: boolean, message: string) => {
    if (health.ready !== ready || health.message !== message) {
      health = { ready, message, since: new Date(now()) };
    }
  };
  const desired = (app: NCApp): DesiredApp => ({ app, source: name, origin: join(folder, fileNameOf(app)) });

  /** Reads the whole folder; false where that was not possible. */
  const readOnce = async (sink: SourceSink): Promise<boolean> => {
    const read = await readAppFiles(folder, lastKnown().map(({ app }) => app)).catch((error) =>
      `cannot read ${folder}: ${errorCode(error)}`
    );
    if (typeof read === "string") {
      refusal = read;
      setHealth(false, read);
      sink.trouble([{ message: read, origin: folder }]);
      return false;
    }
    for (const app of read.apps) apps.set(keyOf(app), app);
    sink.replace([...apps.values()].map(desired));
    tellProblems(read.problems, sink);
    return true;
  };
  const tellProblems = (now: SourceProblem[], sink: SourceSink) => {
    problems = now;
    sink.trouble(problems);
    setHealth(
      true,
      problems.length === 0 ? "following the socket" : `${problems.length} problems in ${folder}`,
    );
  };
  /** Whatever was wrong with the file of an app is over when it was written or removed. */
  const settle = (app: NCApp, sink: SourceSink) => {
    const { origin } = desired(app);
    if (problems.some((problem) => problem.origin === origin)) {
      tellProblems(problems.filter((problem) => problem.origin !== origin), sink);
    }
  };

  const open = (): Promise<SourceSink> => refusal ? Promise.reject(new Error(refusal)) : opened.promise;
  const inTurn = <T>(work: (sink: SourceSink) => Promise<T>): Promise<T> => {
    const result = queue.then(open).then(work);
    queue = result.catch(() => {});
    return result;
  };
  const keep = async (app: NCApp, sink: SourceSink) => {
    await writeAppFile(folder, app);
    apps.set(keyOf(app), app);
    sink.upsert(desired(app));
    settle(app, sink);
  };

  return {
    name,
    health: () => health,
    get: (key) => apps.get(key),
    opened: async () => void await open(),
    async run(sink, signal) {
      while (!signal.aborted && !await readOnce(sink)) await sleep(retryMs, signal);
      if (signal.aborted) return;
      refusal = "";
      opened.resolve(sink);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    put: (app) =>
      inTurn(async (sink) => {
        const before = apps.get(keyOf(app));
        await keep(successor(app, before, now()), sink);
        return { created: before === undefined };
      }),
    edit: (key, change) =>
      inTurn(async (sink) => {
        const before = apps.get(key);
        if (before) await keep(successor(change(before), before, now()), sink);
        return before !== undefined;
      }),
    remove: (key) =>
      inTurn(async (sink) => {
        const before = apps.get(key);
        if (!before) return false;
        await removeAppFile(folder, before);
        apps.delete(key);
        sink.remove(key, before.metadata.uid ?? "");
        settle(before, sink);
        return true;
      }),
  };
}

/** The app as it is kept, after `before`: what an API server would fill in is filled in here. */
function successor(
  { apiVersion, kind, metadata, spec }: NCApp,
  before: NCApp | undefined,
  now: number,
): NCApp {
  const { name, namespace, labels } = metadata;
  const old = before?.metadata;
  const generation = (old?.generation ?? 0) + (isDeepStrictEqual(spec, before?.spec) ? 0 : 1);
  const restartedAt = old?.annotations?.[annotations.restartedAt];
  // A manifest knows nothing of restarts: without this, applying it again would be one.
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
