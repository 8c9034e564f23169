/**
 * The memory that exec, attach and port-forward may use. Each reserves what it could need at worst before it begins, so that whatever
 * clients and apps do, all of them together stay below the listener's limit. Who holds it is the user, if known, else the namespace of
 * the app: the peer is nearly always the API server. A holder gets at most half of what the others leave, so that however many take
 * all that they may, some is left for the next.
 *
 * The arithmetic, in KiB. Buffers of Node are as large as it reads at once (64, with TLS in pieces of 16) beyond their limit:
 *
 * - A connection has 256: 112 that Node has read and nobody took yet, the chunk in work (16), what waits for readers (32 + 16), what
 *   waits for the client (40), and the inflate context with a control frame (40 at most).
 * - A stream of a port-forward has 52, half of a connection to a port: what Node has read of it (16) and its stream has not sent (32),
 *   a piece on its way to the port (16) and what the port has not taken (32), and the objects themselves (8).
 * - An output of a command or a log has 192: a pipe's 128 in Node, and 64 in its stream. An input has 96.
 * - `/run` has 2048 for its output of at most 1 MiB.
 *
 * So the 16 MiB of a namespace that is alone are 22 commands with input and two outputs, or a port-forward with 128 connections and some
 * more: at their worst all the time, since what is reserved is rarely used. Followed logs are not counted here: there are at most 160 clients with one chunk
 * each. Caveat: Deno 2.9 goes on reading a TLS connection that is paused.
 */
const kib = 1024;
const mib = 1024 * kib;

/** What each reserves. */
export const reserved = {
  session: 256 * kib,
  forwardStream: 52 * kib,
  output: 192 * kib,
  input: 96 * kib,
  run: 2 * mib,
};

/** Reserves bytes; undefined if the holder may not have as many now. The returned function gives them back. */
export type StreamMemory = (holder: string, bytes: number) => (() => void) | undefined;

export function createStreamMemory(most = 32 * mib): StreamMemory {
  const used = new Map<string, number>();
  let total = 0;
  const add = (holder: string, bytes: number) => {
    const now = (used.get(holder) ?? 0) + bytes;
    total += bytes;
    if (now > 0) used.set(holder, now);
    else used.delete(holder);
  };
  return (holder, bytes) => {
    const own = used.get(holder) ?? 0;
    if (2 * (own + bytes) > most - (total - own)) return undefined;
    add(holder, bytes);
    let isHeld = true;
    return () => {
      if (isHeld) add(holder, -bytes);
      isHeld = false;
    };
  };
}
