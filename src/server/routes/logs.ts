import type { Context } from "hono";
import { dirname } from "node:path";
import { keyOf, splitAppKey } from "../../api/names.ts";
import { sleep } from "../../lib/sleep.ts";
import { hasPreviousRun, maxTailLines, readLog, type ReadLogOptions } from "../../supervisor/logs/logs.ts";
import { Refusal } from "../refusal.ts";
import { requireApp } from "./apps.ts";
import { flag, readQuery, time, wholeNumber } from "./query.ts";
import { sendStream } from "./stream.ts";
import type { Services } from "../services.ts";
import type { AppView } from "../view.ts";

/** The parameters of `kubectl logs`, with its names. */
export interface LogQuery {
  tailLines: number;
  follow: boolean;
  sinceSeconds: number;
  sinceTime: Date;
  previous: boolean;
  timestamps: boolean;
  limitBytes: number;
}

export const logParameters = {
  tailLines: wholeNumber(maxTailLines),
  follow: flag,
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
  return sendLines(context, found, readQuery<LogQuery>(context, logParameters), services);
}

/**
 * Sends lines of an app's log; with `follow` also new ones, across rotations and restarts, until the app is gone. `endOf` returns a
 * signal for an earlier end, until its own signal aborts.
 */
export async function sendLines(
  context: Context,
  { app, logFile }: Pick<AppView, "app" | "logFile">,
  query: Partial<LogQuery>,
  { view, followers, readers }: Pick<Services, "view" | "followers" | "readers">,
  endOf?: (signal: AbortSignal) => AbortSignal,
): Promise<Response> {
  const folder = dirname(logFile);
  const options = chooseLines(query, Date.now());
  const { namespace, name } = splitAppKey(keyOf(app));
  if (options.previous && !await hasPreviousRun(folder)) {
    throw new Refusal(400, `the log of ${namespace}/${name} has no run before the current or last one`);
  }
  const exists = () => view.app(namespace, name) !== undefined;
  const read = (signal: AbortSignal) =>
    readAppLog(
      folder,
      { ...options, signal, until: options.follow ? endOf?.(signal) : undefined },
      exists,
    );
  const contentType = "text/plain; charset=utf-8";
  return sendStream(context, read, { contentType, limit: options.follow ? followers : readers });
}

function chooseLines({ sinceSeconds, ...rest }: Partial<LogQuery>, now: number): ReadLogOptions {
  if (sinceSeconds === undefined) return { ...rest, follow: rest.follow && !rest.previous };
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
    if (until?.reason instanceof Refusal) yield new TextEncoder().encode(`${until.reason.message}\n`);
    if (limitBytes === 0 || until?.aborted) return;
    if (follow) await sleep(pollMs, signal);
  } while (follow && !signal.aborted && exists());
}
