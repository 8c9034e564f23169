/** Answers that are streamed: logs, followed logs and watches. */
import type { Context } from "hono";
import { Refusal } from "../refusal.ts";
import type { Services } from "../services.ts";

export interface StreamOptions {
  contentType: string;
  /** Counts the stream if it stays open until its client leaves. */
  followers?: Services["followers"];
}

/** Sends what `read` yields at the client's pace: nothing is read ahead. When the client leaves, the signal aborts. */
export function sendStream(
  context: Context,
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  { contentType, followers = { now: 0, most: Infinity } }: StreamOptions,
): Response {
  if (followers.now >= followers.most) {
    const message = `${followers.most} clients already follow a log or watch apps`;
    throw new Refusal(429, message, { headers: { "retry-after": "5" } });
  }
  return context.body(streamOf(read, followers), 200, {
    "content-type": contentType,
    // Without it the first bytes of a quiet stream would wait for more.
    "transfer-encoding": "chunked",
  });
}

function streamOf(
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  count: { now: number },
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  const start = () => {
    count.now++;
    return pieces = read(stop.signal);
  };
  const end = () => {
    if (!pieces || stop.signal.aborted) return;
    count.now--;
    stop.abort();
    // A generator suspended at a piece that was never taken would hold its files open.
    pieces.return(undefined).catch(() => {});
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await (pieces ?? start()).next();
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
