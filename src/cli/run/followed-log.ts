/**
 * Follows the log of an app, and detects when all of it was shown.
 *
 * Guarantees: nothing is shown twice, even if the log rotates; every wait ends.
 * An agent does not report the end of the log to a follower, and bytes cannot be counted, since rotation removes the start of a log.
 * So once nothing more arrives, the last bytes shown are compared with the last lines of the log.
 * Caveat: if a log repeats itself for longer than what is compared, an agent that pauses for `idleMs` in the middle is taken to be
 * at the end.
 */
import { Buffer } from "node:buffer";
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";
import type { AgentClient } from "../agent-api/agent-api.ts";
import type { AppName } from "../app-name.ts";

export interface FollowedLog {
  /** Resolves when everything written before the call was shown, or when the agent has nothing more to send. */
  caughtUp(): Promise<void>;
  /** Stops showing. Rejects if the log could not be followed. */
  close(): Promise<void>;
}

export interface FollowedLogOptions {
  show: (bytes: Uint8Array) => void;
  signal: AbortSignal;
  /** A pause this long may be the end of the log. */
  idleMs?: number;
  /** After a pause this long the rest is given up. Longer than the period at which an agent checks a log by itself. */
  giveUpMs?: number;
}

/** How much of the end of the log is compared. */
const comparedLines = 1000;
const comparedBytes = 16_384;
const keptBytes = 4 * comparedBytes;

/** Starts to show the log of an app from its first line. */
export function followAppLog(
  client: Pick<AgentClient, "logs">,
  name: AppName,
  { show, signal, idleMs = 200, giveUpMs = 10_000 }: FollowedLogOptions,
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
  // close() reports the error; until then it must not end the process.
  following.catch(() => {});

  return {
    async caughtUp() {
      const end = await readEnd(client, name, signal);
      const isOver = AbortSignal.any([signal, over.signal]);
      for (let idleSince = steadyNow(); !isOver.aborted;) {
        const before = shown;
        await sleep(idleMs, isOver);
        if (shown !== before) idleSince = steadyNow();
        else if (last.includes(end) || steadyNow() - idleSince >= giveUpMs) return;
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

/** Returns the last `most` bytes of the two joined. */
function lastOf(before: Uint8Array, next: Uint8Array, most: number): Buffer<ArrayBuffer> {
  const all = Buffer.concat([before, next]);
  return all.length > most ? Buffer.from(all.subarray(-most)) : all;
}
