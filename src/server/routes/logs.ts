import type { Context } from "hono";
import { dirname } from "node:path";
import { keyOf, splitAppKey } from "../../api/names.ts";
import { sleep } from "../../lib/sleep.ts";
import { isoSeconds } from "../../lib/time.ts";
import {
  hasPreviousRun,
  hasRun,
  type LogRun,
  maxTailLines,
  readLog,
  type ReadLogOptions,
} from "../../supervisor/logs/logs.ts";
import { Refusal } from "../refusal.ts";
import { requireApp } from "./apps.ts";
import { flag, readQuery, time, wholeNumber } from "./query.ts";
import { sendStream } from "./stream.ts";
import { abortWhen } from "./watch.ts";
import type { Services } from "../services.ts";
import type { AppView } from "../view.ts";

/** The parameters of `kubectl logs`, with its names, and `untilEnd`. */
export interface LogQuery {
  tailLines: number;
  follow: boolean;
  /** Follow only until the app has ended and will not start again by itself. */
  untilEnd: boolean;
  sinceSeconds: number;
  sinceTime: Date;
  previous: boolean;
  timestamps: boolean;
  limitBytes: number;
}

/** The agent's own parameter: the id of the run whose lines are wanted. */
interface RunQuery {
  run: string;
}

export const logParameters = {
  tailLines: wholeNumber(maxTailLines),
  follow: flag,
  untilEnd: flag,
  sinceSeconds: wholeNumber(2 ** 31 - 1, 1),
  sinceTime: time,
  previous: flag,
  timestamps: flag,
  limitBytes: wholeNumber(10 ** 15 - 1, 1),
};
const pollMs = 500;

/** Sends the log, or the lines that the query chooses. */
export function sendLog(context: Context, services: Services): Promise<Response> {
  const found = requireApp(context, services.view);
  const { run, ...query } = readQuery<LogQuery & RunQuery>(context, {
    ...logParameters,
    run: (id) => id,
  });
  return sendLines(context, found, run ? { ...query, run: findRun(found, run) } : query, services);
}

/** Finds a run in the status of its app. */
function findRun({ app, status, run }: AppView, id: string): LogRun {
  const { startTime, recentRuns = [] } = status;
  const runs = [
    ...(run && startTime ? [{ id: run.id, startedAt: startTime, finishedAt: undefined }] : []),
    ...recentRuns,
  ];
  const at = runs.findIndex((run) => run.id === id);
  const found = runs[at];
  if (!found?.startedAt) {
    throw new Refusal(
      400,
      `${keyOf(app)} has no run ${JSON.stringify(id)}: 'nckubelet runs -o json' lists those that are known`,
    );
  }
  const { startedAt, finishedAt } = found;
  return {
    startedAt: new Date(startedAt),
    ...(finishedAt ? { finishedAt: new Date(finishedAt) } : {}),
    rank: runs.slice(at + 1).filter((run) => run.startedAt === startedAt).length,
  };
}

/**
 * Sends lines of an app's log; with `follow` also new ones, across rotations and restarts, until the app is gone. If the reader loses
 * the right, the last line says so.
 */
export async function sendLines(
  context: Context,
  { app, logFile }: Pick<AppView, "app" | "logFile">,
  { untilEnd, ...query }: Partial<LogQuery> & { run?: LogRun },
  { view, followers, readers }: Pick<Services, "view" | "followers" | "readers">,
): Promise<Response> {
  const folder = dirname(logFile);
  const options = chooseLines(query, Date.now());
  const key = keyOf(app);
  const { namespace, name } = splitAppKey(key);
  if (options.previous && !await hasPreviousRun(folder)) {
    throw new Refusal(400, `the log of ${key} has no run before the current or last one`);
  }
  if (options.run && !await hasRun(folder, options.run)) {
    const at = isoSeconds(options.run.startedAt.getTime());
    throw new Refusal(
      400,
      `the log of ${key} has nothing left of the run that started at ${at}: newer lines took its place`,
    );
  }
  const current = () => view.app(namespace, name);
  const whyOver = () =>
    ["Succeeded", "Failed"].includes(current()?.status.phase ?? "") ? `${key} has ended` : undefined;
  const read = (signal: AbortSignal) => {
    const until = options.follow && untilEnd ? abortWhen(view, key, whyOver, signal) : undefined;
    return readAppLog(folder, { ...options, signal, until }, () => current() !== undefined);
  };
  const contentType = "text/plain; charset=utf-8";
  const limit = options.follow ? followers : readers;
  return sendStream(context, read, { contentType, limit, lastWords: ({ message }) => `${message}\n` });
}

function chooseLines(
  { sinceSeconds, ...rest }: Partial<Omit<LogQuery, "untilEnd">> & { run?: LogRun },
  now: number,
): ReadLogOptions {
  if (sinceSeconds === undefined) return { ...rest, follow: rest.follow && !rest.previous && !rest.run };
  if (rest.sinceTime) {
    throw new Refusal(400, "query parameters sinceSeconds and sinceTime exclude each other: use one of them");
  }
  return chooseLines({ ...rest, sinceTime: new Date(now - 1000 * sinceSeconds) }, now);
}

/** Reads the log. An app that has not started yet has none; `follow` waits for it. */
async function* readAppLog(
  folder: string,
  options: ReadLogOptions & { signal: AbortSignal },
  exists: () => boolean,
): AsyncGenerator<Uint8Array> {
  const { follow, signal, until } = options;
  let { tailLines, sinceTime, limitBytes } = options;
  do {
    for await (const bytes of readLog(folder, { ...options, tailLines, sinceTime, limitBytes })) {
      yield bytes;
      if (limitBytes !== undefined) limitBytes -= bytes.length;
    }
    // A log that appears later has only new lines.
    tailLines = sinceTime = undefined;
    if (limitBytes === 0 || until?.aborted) return;
    if (follow) await sleep(pollMs, signal);
  } while (follow && !signal.aborted && exists());
}
