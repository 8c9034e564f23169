/** The server's side of one SPDY connection. spdy.ts has its guarantees and caveats. */
import type { Duplex } from "node:stream";
import { sleep, waitAtMost } from "../../lib/sleep.ts";
import { nextSlice } from "../turns.ts";
import {
  type ControlFrame,
  encodeControl,
  encodeDataHead,
  type Frame,
  FrameReader,
  resetStatus,
} from "./frames.ts";
import { HeaderReader, type Headers, HeaderWriter } from "./header-block.ts";
import { costOf, costOfData, Pace, sessionPace } from "./pace.ts";
import { SpdyError } from "./spdy-error.ts";
import { SpdyStream } from "./stream.ts";

export interface Limits {
  /** Open streams. */
  streams: number;
  /** The headers of one stream, as text. */
  headerBytes: number;
  /** Received bytes that wait for their readers, over all streams. */
  waitingBytes: number;
  /** Frames that wait for a client that does not read. */
  unsentBytes: number;
  /** How long no data may move. */
  idleMs: number;
  /** How long the client may take to close the connection after the last stream. */
  lingerMs: number;
  /** How often a client is asked for a sign of life while its connection is not read. */
  pausedPingMs: number;
}

export const defaultLimits: Limits = {
  streams: 256,
  headerBytes: 4096,
  waitingBytes: 32_768,
  unsentBytes: 40_960,
  // As the kubelet's streaming-connection-idle-timeout.
  idleMs: 4 * 3_600_000,
  lingerMs: 5000,
  pausedPingMs: 5000,
};

export interface SessionOptions {
  /** Returns what to do with a new stream, by its headers; undefined refuses it. */
  accept(headers: Headers): ((stream: SpdyStream) => void) | undefined;
  limits?: Partial<Limits>;
  /** What the connection shares with others: those of its holder, and all of the listener. */
  paces?: readonly Pace[];
}

/** What the protocol allows a peer that says nothing else. */
const initialWindow = 65_536;
const maxWindow = 0x7fffffff;
const maxFrameBytes = 16_384;
/** Data waits in its stream while the connection has this much to send. */
const congestedBytes = 16_384;

export class SpdySession {
  /** Resolves when the connection is over: to why, or to undefined if the client closed it. */
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Duplex;
  readonly #options: SessionOptions;
  readonly #limits: Limits;
  readonly #frames: FrameReader;
  readonly #headers: HeaderReader;
  readonly #paces: readonly Pace[];
  readonly #replies = new HeaderWriter();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #blocked = new Set<SpdyStream>();
  readonly #idle: NodeJS.Timeout;
  readonly #gone = new AbortController();
  /** Resolves the wait for readers. */
  #hasRoom: (() => void) | undefined;
  #lastStream = 0;
  #pings = 0;
  #waitingBytes = 0;
  /** Bytes taken by readers of which the client does not know yet: in all, and the streams with theirs. */
  #untold = 0;
  readonly #untoldStreams = new Set<SpdyStream>();
  /** The peer has mentioned windows, so it keeps to them. */
  #hasWindows = false;
  #initialWindow = initialWindow;
  #sent = 0;
  #allowed = initialWindow;
  /** The budget for data is used up. */
  #isWaiting = false;
  #isOver = false;
  #settle: (why: Error | undefined) => void = () => {};

  constructor(socket: Duplex, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#paces = [new Pace(sessionPace), ...options.paces ?? []];
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#frames = new FrameReader(this.#limits.headerBytes + 64);
    this.#headers = new HeaderReader(this.#limits.headerBytes);
    this.closed = new Promise((resolve) => this.#settle = resolve);
    const { idleMs } = this.#limits;
    this.#idle = setTimeout(
      () => this.#fail(new SpdyError(`no data has moved for ${idleMs / 1000} s`)),
      idleMs,
    );
    this.#idle.unref();
    socket.on("data", (chunk: Uint8Array) => {
      // One chunk at a time: meanwhile TCP slows the client down.
      socket.pause();
      void this.#read(chunk);
    });
    socket.on("error", (error) => this.#over(error));
    socket.on("end", () => this.destroy());
    socket.on("close", () => this.#over(undefined));
  }

  /** Says goodbye and waits for the client to close the connection, at most `lingerMs`. The caller has ended the streams. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#control({ type: "goAway", lastStream: this.#lastStream, status: 0 });
    await waitAtMost(this.#limits.lingerMs, this.closed);
    this.destroy();
  }

  /** Ends the connection at once, with all streams. */
  destroy(why?: Error): void {
    this.#over(why);
  }

  /** Handles the frames of a chunk, one after the other, and resumes the connection when there is room for more. */
  async #read(chunk: Uint8Array): Promise<void> {
    try {
      for (const frame of this.#frames.read(chunk)) {
        const waitMs = this.#spend(costOf(frame));
        if (waitMs > 0) await sleep(waitMs, this.#gone.signal);
        const turn = nextSlice();
        if (turn) await turn;
        if (this.#isOver) return;
        const handled = this.#handle(frame);
        if (handled) await handled;
        if (this.#isOver) return;
      }
      if (this.#waitingBytes > this.#limits.waitingBytes) await this.#untilRoom();
      if (!this.#isOver) this.#socket.resume();
    } catch (error) {
      if (error instanceof SpdyError) this.#fail(error);
      else this.#over(error as Error);
    }
  }

  /** Takes the cost from all budgets, and returns how many milliseconds to wait. */
  #spend(cost: number): number {
    return Math.max(...this.#paces.map((pace) => pace.spend(cost)));
  }

  #handle(frame: Frame): Promise<void> | undefined | void {
    switch (frame.type) {
      case "data":
        return this.#onData(frame);
      case "synStream":
        return this.#onSynStream(frame);
      case "synReply":
        throw new SpdyError("a client answered a stream that the server did not open");
      case "headers":
        return this.#onHeaders(frame);
      case "reset":
        this.#requireKnown("a reset", frame.stream);
        return this.#drop(this.#streams.get(frame.stream), new Error("the client reset the stream"));
      case "settings":
        return this.#onSettings(frame.initialWindow);
      case "ping":
        // Odd ones are the client's; even ones answer ours.
        return frame.id % 2 === 1 ? this.#control(frame) : undefined;
      case "goAway":
      case "unknown":
        return;
      case "windowUpdate":
        return this.#onWindowUpdate(frame);
    }
  }

  async #onHeaders(
    { stream: id, fin, block }: Extract<Frame, { type: "synReply" | "headers" }>,
  ): Promise<void> {
    const stream = this.#streams.get(id);
    if (!stream || stream.isEnded) throw new SpdyError(`headers for stream ${id}, which is not open`);
    // Read for the sake of the blocks after it.
    await this.#headers.read(block);
    if (fin && !stream.destroyed) stream.receive(new Uint8Array(), true);
  }

  /** A stream may have been closed while the client was sending; what was never open is a mistake. */
  #requireKnown(what: string, id: number): void {
    if (id % 2 === 1 && id <= this.#lastStream) return;
    throw new SpdyError(`${what} for stream ${id}, which is not open`);
  }

  async #onSynStream(
    { stream: id, fin, unidirectional, block }: Extract<Frame, { type: "synStream" }>,
  ): Promise<void> {
    if (id % 2 === 0 || id <= this.#lastStream) {
      throw new SpdyError(`stream ${id} after ${this.#lastStream}: the next one has to be odd and higher`);
    }
    this.#lastStream = id;
    const headers = await this.#headers.read(block);
    if (this.#isOver) return;
    const use = this.#streams.size < this.#limits.streams ? this.#options.accept(headers) : undefined;
    if (!use) return this.#control({ type: "reset", stream: id, status: resetStatus.refused });
    const stream = new SpdyStream(id, this.#link, this.#initialWindow);
    this.#streams.set(id, stream);
    // A client drops data that comes before the reply.
    this.#control({
      type: "synReply",
      stream: id,
      fin: unidirectional,
      block: this.#replies.write(new Map()),
    });
    if (unidirectional) stream.end();
    if (fin) stream.receive(new Uint8Array(), true);
    use(stream);
  }

  #onData({ stream: id, bytes, fin }: Extract<Frame, { type: "data" }>): void {
    const stream = this.#streams.get(id);
    if (stream && !stream.isEnded) {
      this.#idle.refresh();
      return stream.receive(bytes, fin);
    }
    this.#requireKnown("data", id);
    this.#untold += bytes.length;
    this.#tellTaken();
    if (stream) this.#reset(stream, resetStatus.protocolError);
  }

  #onSettings(window: number | undefined): void {
    if (window === undefined) return;
    this.#hasWindows = true;
    for (const stream of this.#streams.values()) stream.allowed += window - this.#initialWindow;
    this.#initialWindow = window;
    this.#flushBlocked();
  }

  #onWindowUpdate({ stream: id, delta }: Extract<Frame, { type: "windowUpdate" }>): void {
    this.#hasWindows = true;
    if (id === 0) {
      this.#allowed += delta;
      if (delta === 0 || this.#allowed - this.#sent > maxWindow) throw new SpdyError("a window is too large");
    } else this.#requireKnown("a window", id);
    const stream = this.#streams.get(id);
    if (stream) {
      stream.allowed += delta;
      if (delta === 0 || stream.allowed - stream.sent > maxWindow) {
        return this.#reset(stream, resetStatus.flowControl);
      }
    }
    this.#flushBlocked();
  }

  readonly #link = {
    flush: (stream: SpdyStream) => this.#flush(stream),
    finish: (stream: SpdyStream) => this.#data(stream, new Uint8Array(), true),
    waiting: (bytes: number) => {
      this.#waitingBytes += bytes;
      if (this.#waitingBytes <= this.#limits.waitingBytes) this.#hasRoom?.();
    },
    taken: (stream: SpdyStream, bytes: number) => {
      this.#untold += bytes;
      stream.untold += bytes;
      if (stream.untold >= initialWindow / 2) this.#untoldStreams.add(stream);
      this.#tellTaken();
    },
    closed: (stream: SpdyStream) => {
      this.#streams.delete(stream.id);
      this.#blocked.delete(stream);
      this.#untoldStreams.delete(stream);
      const isOpen = !stream.isEnded || !stream.isFinished;
      if (isOpen && !stream.isGone) {
        this.#control({ type: "reset", stream: stream.id, status: resetStatus.cancel });
      }
    },
  };

  #flush(stream: SpdyStream): void {
    while (stream.pending && !this.#isOver) {
      const { bytes, done } = stream.pending;
      const window = this.#hasWindows
        ? Math.min(stream.allowed - stream.sent, this.#allowed - this.#sent)
        : Infinity;
      const length = Math.min(bytes.length, maxFrameBytes, window);
      if (!this.#maySend() || (length <= 0 && bytes.length > 0)) {
        this.#blocked.add(stream);
        return;
      }
      this.#idle.refresh();
      this.#data(stream, bytes.subarray(0, length), false);
      stream.sent += length;
      this.#sent += length;
      stream.pending = length < bytes.length ? { bytes: bytes.subarray(length), done } : undefined;
      if (!stream.pending) done();
      const waitMs = this.#spend(costOfData(length));
      if (waitMs > 0) void this.#sendNothing(waitMs);
    }
  }

  #maySend(): boolean {
    return !this.#isWaiting && !this.#isCongested();
  }

  /** Data waits in its streams, whose writers wait with it. */
  async #sendNothing(waitMs: number): Promise<void> {
    this.#isWaiting = true;
    await sleep(waitMs, this.#gone.signal);
    this.#isWaiting = false;
    this.#onWritten();
  }

  #isCongested(): boolean {
    return this.#socket.writableLength >= congestedBytes;
  }

  readonly #onWritten = () => {
    if (this.#isOver || this.#isCongested()) return;
    this.#tellTaken();
    this.#flushBlocked();
  };

  /** In turns: who has more to send waits behind the others. */
  #flushBlocked(): void {
    if (this.#blocked.size === 0) return;
    for (const stream of [...this.#blocked]) {
      if (!this.#maySend()) return;
      this.#blocked.delete(stream);
      this.#flush(stream);
    }
  }

  /** Widens the windows once half of one was taken; for a client that does not read, when it does. */
  #tellTaken(): void {
    if (this.#untold < initialWindow / 2 || this.#isCongested()) return;
    this.#control({ type: "windowUpdate", stream: 0, delta: this.#untold });
    this.#untold = 0;
    for (const stream of this.#untoldStreams) {
      if (!stream.isEnded) this.#control({ type: "windowUpdate", stream: stream.id, delta: stream.untold });
      stream.untold = 0;
    }
    this.#untoldStreams.clear();
  }

  /** Resolves when readers have taken enough. Clients that ignore windows are slowed down by their connection. */
  async #untilRoom(): Promise<void> {
    // A connection that is not read does not notice that its client has left; one that is written to does.
    const pinging = setInterval(() => {
      if (!this.#isCongested()) this.#control({ type: "ping", id: this.#pings += 2 });
    }, this.#limits.pausedPingMs);
    pinging.unref();
    await new Promise<void>((resolve) => this.#hasRoom = resolve);
    this.#hasRoom = undefined;
    clearInterval(pinging);
  }

  #reset(stream: SpdyStream, status: number): void {
    this.#control({ type: "reset", stream: stream.id, status });
    this.#drop(stream, new SpdyError(`stream ${stream.id} was reset with status ${status}`));
  }

  #drop(stream: SpdyStream | undefined, why: Error): void {
    if (!stream) return;
    stream.isGone = true;
    stream.destroy(why);
  }

  #control(frame: ControlFrame): void {
    if (this.#isOver || !this.#socket.writable) return;
    this.#socket.write(encodeControl(frame), this.#onWritten);
    if (this.#socket.writableLength <= this.#limits.unsentBytes) return;
    this.#over(new SpdyError("the client sends, but does not read"));
  }

  #data(stream: SpdyStream, bytes: Uint8Array, isLast: boolean): void {
    if (this.#isOver || !this.#socket.writable) return;
    this.#socket.cork();
    this.#socket.write(encodeDataHead(stream.id, bytes.length, isLast));
    if (bytes.length > 0) this.#socket.write(bytes, this.#onWritten);
    this.#socket.uncork();
  }

  /** The client broke the protocol. */
  #fail(error: SpdyError): void {
    this.#control({ type: "goAway", lastStream: this.#lastStream, status: 1 });
    this.#over(error);
  }

  #over(why: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#gone.abort();
    this.#hasRoom?.();
    this.#headers.close();
    for (const stream of [...this.#streams.values()]) {
      this.#drop(stream, why ?? new Error("the client closed the connection"));
    }
    // Sends what is written already, but does not wait for a client that does not read it.
    this.#socket.end(() => this.#socket.destroy());
    setTimeout(() => this.#socket.destroy(), this.#limits.lingerMs).unref();
    this.#settle(why);
  }
}
