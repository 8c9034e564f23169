/**
 * One watch connection: bytes to lines to events.
 *
 * Guarantees: a line is decoded only when it is complete, even if a chunk ends inside a character; the connection is closed
 * after `silenceMs` without a byte. The result says how it ended: by the server, by silence, or by an error.
 */
import { Buffer } from "node:buffer";
import type { Asked, KubeClient, Query } from "../client/client.ts";
import { KubeError } from "../kube-error.ts";

export interface WatchLine {
  type: string;
  object: unknown;
}

export interface WatchStream {
  /** Returns the next line, or how the connection ended. Throws a KubeError if it broke. */
  next(): Promise<WatchLine | "ended" | "silent" | "due">;
  /** Replaces the limits, from now on. */
  limit(limits: WatchLimits): void;
  stop(): void;
}

export interface WatchLimits {
  silenceMs: number;
  /** After this time the connection is closed in any state: `due`. */
  dueMs: number;
}

export interface WatchStreamOptions extends WatchLimits {
  path: string;
  query: Query;
  signal: AbortSignal;
}

const maxLineBytes = 16 << 20;

/** Resolves when the server has accepted the watch. */
export async function openWatch(client: KubeClient, options: WatchStreamOptions): Promise<WatchStream> {
  const { path, query, signal } = options;
  let { silenceMs } = options;
  const controller = new AbortController();
  let givenUp: "silent" | "due" | undefined;
  let due: ReturnType<typeof setTimeout> | undefined;
  const giveUp = (why?: "silent" | "due") => {
    clearTimeout(due);
    signal.removeEventListener("abort", stop);
    givenUp ??= why;
    controller.abort();
  };
  const stop = () => giveUp();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();

  const asked = { method: "GET", url: client.access.server.origin + path };
  try {
    const bytes = await client.stream({ path, query, signal: controller.signal });
    const lines = splitLines(untilSilent(bytes, () => silenceMs, () => giveUp("silent")));
    const limit = (limits: WatchLimits) => {
      silenceMs = limits.silenceMs;
      clearTimeout(due);
      due = setTimeout(giveUp, limits.dueMs, "due");
    };
    limit(options);
    return {
      limit,
      stop,
      async next() {
        let line;
        try {
          line = await lines.next();
        } catch (error) {
          stop();
          if (givenUp) return givenUp;
          throw lost(error, asked);
        }
        if (!line.done) return parseLine(line.value, asked);
        stop();
        return "ended";
      },
    };
  } catch (error) {
    stop();
    throw error;
  }
}

/** The timer is stopped while a chunk is processed: only the server's silence counts. */
async function* untilSilent(
  chunks: AsyncIterable<Uint8Array>,
  silenceMs: () => number,
  onSilence: () => void,
) {
  let timer = setTimeout(onSilence, silenceMs());
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(onSilence, silenceMs());
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Splits bytes at newlines. Throws if they end inside a line: the rest of it is lost. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending).toString("utf8").trim();
      pending = [];
      size = 0;
      start = end + 1;
      if (line) yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxLineBytes) throw new Error(`a line of the watch is longer than ${maxLineBytes} bytes`);
  }
  if (size > 0) throw new Error(`the watch broke off inside a line, after ${size} bytes of it`);
}

const newline = 0x0a;

function parseLine(line: string, asked: Asked): WatchLine {
  let cause;
  try {
    const event = JSON.parse(line) as WatchLine | null;
    if (typeof event?.type === "string" && typeof event.object === "object" && event.object !== null) {
      return event;
    }
  } catch (error) {
    cause = error;
  }
  throw new KubeError(`a line of the watch is no event: ${line.slice(0, 100)}`, {
    ...asked,
    reason: "BadAnswer",
    cause,
  });
}

/** A line that broke off is not a bad answer: its event is sent again when the watch resumes. */
function lost(error: unknown, asked: Asked): KubeError {
  if (error instanceof KubeError) return error;
  return new KubeError((error as Error).message, { ...asked, reason: "Unreachable", cause: error });
}
