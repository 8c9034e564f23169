/**
 * One stream of a session, as a Duplex: `end()` closes this side's half, `destroy()` resets it.
 *
 * What the reader does not take yet waits here and counts in the session's memory. What is written waits for the peer's window and
 * for the connection, so that a writer never gets ahead of a slow client.
 */
import { Duplex } from "node:stream";

/** What a stream needs of its session. */
export interface StreamLink {
  /** Sends the stream's pending bytes as far as window and connection allow. */
  flush(stream: SpdyStream): void;
  finish(stream: SpdyStream): void;
  /** Bytes wait for their reader, or (negative) no longer do. */
  waiting(bytes: number): void;
  /** The reader took bytes: the peer may send as many. */
  taken(stream: SpdyStream, bytes: number): void;
  closed(stream: SpdyStream): void;
}

/** What a reader gets at once, at most. */
const pieceBytes = 16_384;
/** Small pieces are joined up to this size: each one costs memory beyond its bytes. */
const joinedBytes = 4096;

export class SpdyStream extends Duplex {
  readonly id: number;
  /** What `flush` has to send, and what it calls when all is sent. */
  pending: { bytes: Uint8Array; done: () => void } | undefined;
  /** Bytes sent so far, and those that the peer's window allows in total. */
  sent = 0;
  allowed: number;
  /** Bytes taken by the reader that the peer does not know of yet. */
  untold = 0;
  /** Whether the peer, and this side, have closed their half. */
  isEnded = false;
  isFinished = false;
  /** The peer reset it, or the session is over: there is nobody to tell. */
  isGone = false;
  readonly #link: StreamLink;
  #queue: Uint8Array[] = [];
  #wantsMore = false;

  constructor(id: number, link: StreamLink, window: number) {
    // What is not read waits in the queue here, where it is counted.
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: pieceBytes });
    this.id = id;
    this.allowed = window;
    this.#link = link;
    // Who uses a stream learns of a reset by its close; without a listener an error would end the program.
    this.on("error", () => {});
  }

  /** The peer sent these bytes. */
  receive(bytes: Uint8Array, isLast: boolean): void {
    for (let at = 0; at < bytes.length; at += pieceBytes) this.#add(bytes.subarray(at, at + pieceBytes));
    if (bytes.length > 0) this.#link.waiting(bytes.length);
    this.isEnded ||= isLast;
    this.#deliver();
  }

  #add(piece: Uint8Array): void {
    const last = this.#queue.at(-1);
    if (last && last.length + piece.length <= joinedBytes) {
      this.#queue[this.#queue.length - 1] = joined(last, piece);
      // A small part of a chunk would keep all of it in memory.
    } else this.#queue.push(2 * piece.length < piece.buffer.byteLength ? joined(piece) : piece);
  }

  override _read(): void {
    this.#wantsMore = true;
    this.#deliver();
  }

  override _write(bytes: Uint8Array, _: unknown, done: () => void): void {
    this.pending = { bytes, done };
    this.#link.flush(this);
  }

  override _final(done: () => void): void {
    this.isFinished = true;
    this.#link.finish(this);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#link.waiting(-this.#queue.reduce((sum, { length }) => sum + length, 0));
    this.#queue = [];
    this.pending = undefined;
    this.#link.closed(this);
    done(error);
  }

  #deliver(): void {
    while (this.#wantsMore && this.#queue.length > 0) {
      const bytes = this.#queue.shift()!;
      this.#wantsMore = this.push(bytes);
      this.#link.waiting(-bytes.length);
      this.#link.taken(this, bytes.length);
    }
    if (this.isEnded && this.#queue.length === 0 && !this.readableEnded) this.push(null);
  }
}

/** A copy that shares its memory with nothing else. */
function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
