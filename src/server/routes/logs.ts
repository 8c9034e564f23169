/** The route that sends the log of an app. */
import type { Context } from "hono";
import { dirname } from "node:path";
import { sleep } from "../../lib/sleep.ts";
import { readLog } from "../../supervisor/logs/logs.ts";
import { requireApp } from "./apps.ts";
import { flag, readQuery, wholeNumber } from "./query.ts";
import { sendStream } from "./stream.ts";
import type { Services } from "../services.ts";

interface LogQuery {
  tailLines: number;
  follow: boolean;
}

const query = { tailLines: wholeNumber(1_000_000), follow: flag };
const lookAgainMs = 500;

/** Sends the log, or its last lines; with `follow` what comes after too, over rotations and restarts, until the app is gone. */
export function sendLog(context: Context, { view, followers }: Services): Response {
  const { logFile } = requireApp(context, view);
  const { tailLines, follow = false } = readQuery<LogQuery>(context, query);
  const { namespace = "", name = "" } = context.req.param();
  const isThere = () => view.app(namespace, name) !== undefined;
  const read = (signal: AbortSignal) => readAppLog(dirname(logFile), { tailLines, follow, isThere, signal });
  const contentType = "text/plain; charset=utf-8";
  return sendStream(context, read, { contentType, ...(follow && { followers }) });
}

/** An app that did not start yet has no log; one that is followed is waited for. */
async function* readAppLog(
  folder: string,
  { tailLines, follow, isThere, signal }: {
    tailLines?: number;
    follow: boolean;
    isThere: () => boolean;
    signal: AbortSignal;
  },
): AsyncGenerator<Uint8Array> {
  let lines = tailLines;
  do {
    yield* readLog(folder, { tailLines: lines, follow, signal });
    // Whatever is in a log that was not there before came after the question.
    lines = undefined;
    if (follow) await sleep(lookAgainMs, signal);
  } while (follow && !signal.aborted && isThere());
}
