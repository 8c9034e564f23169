/**
 * The memory that exec, attach and port-forward may use. Each reserves what it could need at worst before it begins, so that whatever
 * clients and apps do, all of them together stay below the listener's limit. The peer is nearly always the API server, so the person
 * behind a stream is not known: one app, and one sender, get only a part of it.
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
 * So 32 MiB are 45 commands with input and two outputs, or two port-forwards with 128 connections each and some more: at their worst
 * all the time, since what is reserved is rarely used. Followed logs are not counted here: there are at most 160 clients with one chunk
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

/** Who uses memory. */
export interface Holder {
  app: string;
  sender: string;
}

/** Reserves bytes; undefined if there are not as many left. The returned function gives them back. */
export type StreamMemory = (holder: Holder, bytes: number) => (() => void) | undefined;

export function createStreamMemory(
  most = { listener: 32 * mib, sender: 24 * mib, app: 16 * mib },
): StreamMemory {
  const used = new Map<string, number>();
  const add = (name: string, bytes: number) => {
    const now = (used.get(name) ?? 0) + bytes;
    if (now > 0) used.set(name, now);
    else used.delete(name);
  };
  return ({ app, sender }, bytes) => {
    const counts: [name: string, most: number][] = [
      ["listener", most.listener],
      [`sender ${sender}`, most.sender],
      [`app ${app}`, most.app],
    ];
    if (counts.some(([name, limit]) => (used.get(name) ?? 0) + bytes > limit)) return undefined;
    for (const [name] of counts) add(name, bytes);
    let isHeld = true;
    return () => {
      if (isHeld) { for (const [name] of counts) add(name, -bytes); }
      isHeld = false;
    };
  };
}
