/** Answers that are streamed: logs, followed logs and watches. */
import type { Context } from "hono";
import { Refusal } from "../refusal.ts";
import type { ClientLimit } from "../services.ts";

export interface StreamOptions {
  contentType: string;
  /** The stream counts against it until it ends. */
  limit: ClientLimit;
}

/** Sends what `read` yields at the client's pace: nothing is read ahead. When the client leaves, the signal aborts. */
export function sendStream(
  context: Context,
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  { contentType, limit }: StreamOptions,
): Response {
  requireCapacity(limit);
  return context.body(streamOf(read, limit), 200, {
    "content-type": contentType,
    // Without it the first bytes of a quiet stream would wait for more.
    "transfer-encoding": "chunked",
  });
}

/** Refuses a client beyond the limit. */
export function requireCapacity({ now, most, use }: ClientLimit): void {
  if (now < most) return;
  const message = `${most} clients of this listener already ${use}; try again later`;
  throw new Refusal(429, message, { headers: { "retry-after": "5" } });
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
