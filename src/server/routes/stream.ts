/** Answers that are streamed: logs, followed logs and watches. */
import type { Context } from "hono";
import { Refusal } from "../refusal.ts";
import { endOfRights } from "../rights.ts";
import type { ClientLimit } from "../services.ts";

export interface StreamOptions {
  contentType: string;
  /** The stream counts against it until it ends. */
  limit: ClientLimit;
  /** What a sender gets last that loses its right meanwhile; without it the answer breaks off. */
  lastWords?(refusal: Refusal): string;
}

/** Sends what `read` yields at the client's pace: nothing is read ahead. When the client leaves or loses its right, the signal aborts. */
export function sendStream(
  context: Context,
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  options: StreamOptions,
): Response {
  requireCapacity(options.limit);
  return context.body(streamOf(context, read, options), 200, {
    "content-type": options.contentType,
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
  context: Context,
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  { limit, lastWords }: StreamOptions,
): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  let refused: AbortSignal | undefined;
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  const start = () => {
    limit.now++;
    refused = endOfRights(context, gone.signal);
    return pieces = read(AbortSignal.any([gone.signal, refused]));
  };
  const end = () => {
    if (!pieces || gone.signal.aborted) return;
    limit.now--;
    gone.abort();
    // A generator suspended at a piece that was never taken would hold its files open.
    pieces.return(undefined).catch(() => {});
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        if (!refused?.aborted) {
          const { value, done } = await (pieces ?? start()).next();
          if (gone.signal.aborted) return;
          if (!done) return controller.enqueue(value);
        }
        // Half an answer must not look like a whole one.
        if (refused?.aborted && !lastWords) throw refused.reason;
        if (refused?.aborted) controller.enqueue(new TextEncoder().encode(lastWords!(refused.reason)));
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
