/**
 * The log of an app as it is written, and a way to know that all of it was shown.
 *
 * Guarantees: nothing is shown twice, whatever rotates away meanwhile; every wait ends.
 * An agent does not tell a follower that it has come to the end, and counting does not tell either: a log keeps only so much, so that
 * its beginning moves. Therefore what was shown last is held against the last lines of the log, while nothing more comes.
 * Caveat: where a log repeats itself for longer than what is compared, an agent that is silent for `quietMs` in the middle passes for
 * one at the end.
 */
import { Buffer } from "node:buffer";
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";
import type { AgentClient } from "./agent-client.ts";
import type { AppName } from "./app-operand.ts";

export interface FollowedLog {
  /** Resolves when all was shown that was written before the call, or when the agent has nothing more to send. */
  caughtUp(): Promise<void>;
  /** Shows no more. Rejects where the log could not be followed. */
  close(): Promise<void>;
}

export interface FollowedLogOptions {
  show: (bytes: Uint8Array) => void;
  signal: AbortSignal;
  /** So long nothing comes before it counts as the end. */
  quietMs?: number;
  /** So long nothing comes before the rest is given up: longer than an agent waits before it looks by itself. */
  patienceMs?: number;
}

/** So many lines, and no more than so many bytes of them, are compared. */
const comparedLines = 1000;
const comparedBytes = 16_384;
const keptBytes = 4 * comparedBytes;

/** Begins to show the log of an app, from its first line on. */
export function followAppLog(
  client: Pick<AgentClient, "logs">,
  name: AppName,
  { show, signal, quietMs = 200, patienceMs = 10_000 }: FollowedLogOptions,
): FollowedLog {
  const closing = new AbortController();
  const over = new AbortController();
  let shown = 0;
  let last = Buffer.alloc(0);
  const follow = async () => {
    const until = AbortSignal.any([signal, closing.signal]);
    for await (const bytes of client.logs(name, { follow: true, signal: until })) {
      show(bytes);
      shown += bytes.length;
      last = lastOf(last, bytes, keptBytes);
    }
  };
  const following = follow().finally(() => over.abort());
  // Whoever closes is told; until then it is not the end of the process.
  following.catch(() => {});

  return {
    async caughtUp() {
      const wanted = await readEnd(client, name, signal);
      const isOver = AbortSignal.any([signal, over.signal]);
      for (let quietSince = steadyNow(); !isOver.aborted;) {
        const before = shown;
        await sleep(quietMs, isOver);
        if (shown !== before) quietSince = steadyNow();
        else if (last.includes(wanted) || steadyNow() - quietSince >= patienceMs) return;
      }
    },
    async close() {
      closing.abort();
      await following;
    },
  };
}

async function readEnd(
  client: Pick<AgentClient, "logs">,
  name: AppName,
  signal: AbortSignal,
): Promise<Uint8Array> {
  let end = Buffer.alloc(0);
  for await (const bytes of client.logs(name, { tailLines: comparedLines, signal })) {
    end = lastOf(end, bytes, comparedBytes);
  }
  return end;
}

/** The last bytes of what was there and what came. */
function lastOf(before: Uint8Array, next: Uint8Array, most: number): Buffer<ArrayBuffer> {
  const all = Buffer.concat([before, next]);
  return all.length > most ? Buffer.from(all.subarray(-most)) : all;
}
