/** The route that sends the log of an app. */
import type { Context } from "hono";
import { dirname } from "node:path";
import { sleep } from "../../lib/sleep.ts";
import { readLog } from "../../supervisor/logs/logs.ts";
import { requireApp } from "./apps.ts";
import { flag, readQuery, wholeNumber } from "./query.ts";
import { Refusal } from "../refusal.ts";
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
  if (follow && followers.now >= followers.most) {
    const message = `${followers.most} logs are being followed already`;
    throw new Refusal(429, message, { headers: { "retry-after": "5" } });
  }
  const { namespace = "", name = "" } = context.req.param();
  const isThere = () => view.app(namespace, name) !== undefined;
  const read = (signal: AbortSignal) => readAppLog(dirname(logFile), { tailLines, follow, isThere, signal });
  return context.body(streamOf(read, follow ? followers : { now: 0 }), 200, {
    "content-type": "text/plain; charset=utf-8",
    // Without it the first bytes of a quiet log would wait for more.
    "transfer-encoding": "chunked",
  });
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

/** A stream that begins when it is first read, goes as fast as it is read, and ends what feeds it when nobody reads. */
function streamOf(
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  count: { now: number },
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  const begin = () => {
    count.now++;
    return pieces = read(stop.signal);
  };
  const end = () => {
    if (!pieces || stop.signal.aborted) return;
    count.now--;
    stop.abort();
    // Where it stands at a piece that nobody took, it would hold its files open.
    pieces.return(undefined).catch(() => {});
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await (pieces ?? begin()).next();
        if (stop.signal.aborted) return;
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (error) {
        end();
        throw error;
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
