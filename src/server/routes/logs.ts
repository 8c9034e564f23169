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
const pollMs = 500;

/** Sends the log or its last lines; with `follow` also new ones, across rotations and restarts, until the app is gone. */
export function sendLog(context: Context, { view, followers }: Services): Response {
  const { logFile } = requireApp(context, view);
  const { tailLines, follow = false } = readQuery<LogQuery>(context, query);
  const { namespace = "", name = "" } = context.req.param();
  const exists = () => view.app(namespace, name) !== undefined;
  const read = (signal: AbortSignal) => readAppLog(dirname(logFile), { tailLines, follow, exists, signal });
  const contentType = "text/plain; charset=utf-8";
  return sendStream(context, read, { contentType, ...(follow && { followers }) });
}

/** Reads the log. An app that has not started yet has none; `follow` waits for it. */
async function* readAppLog(
  folder: string,
  { tailLines, follow, exists, signal }: {
    tailLines?: number;
    follow: boolean;
    exists: () => boolean;
    signal: AbortSignal;
  },
): AsyncGenerator<Uint8Array> {
  let lines = tailLines;
  do {
    yield* readLog(folder, { tailLines: lines, follow, signal });
    // A log that appears later has only new lines.
    lines = undefined;
    if (follow) await sleep(pollMs, signal);
  } while (follow && !signal.aborted && exists());
}
