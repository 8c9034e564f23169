/** A small SPDY client for tests: as polite or as rude as the test wants. */
import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { constants, deflateRawSync, deflateSync } from "node:zlib";
import { dictionary } from "../../../src/server/spdy/dictionary.ts";
import {
  type ControlFrame,
  encodeControl,
  encodeDataHead,
  type Frame,
  FrameReader,
} from "../../../src/server/spdy/frames.ts";
import { formatHeaders, HeaderReader, type Headers } from "../../../src/server/spdy/header-block.ts";
import { waitFor } from "../../wait-for.ts";

/** What the client knows of one of its streams. */
export interface ClientStream {
  id: number;
  received: Buffer[];
  length: number;
  replied: boolean;
  ended: boolean;
  reset?: number;
  /** Bytes that the server's window allows now. */
  window: number;
  text(): string;
  write(bytes: Uint8Array | string, isLast?: boolean): boolean;
  end(): void;
}

export class SpdyClient {
  readonly socket: Duplex;
  readonly streams = new Map<number, ClientStream>();
  readonly pings: number[] = [];
  goAway: Extract<Frame, { type: "goAway" }> | undefined;
  closed = false;
  /** Sends WINDOW_UPDATE for what it receives, as Kubernetes' own client does not. */
  keepsWindows = false;
  /** Closes the connection when the server says goodbye, as Kubernetes' own client does. */
  leaves = true;
  #frames = new FrameReader(1 << 20);
  #replies = new HeaderReader(1 << 20);
  #reading: Promise<unknown> = Promise.resolve();
  #next = 1;
  #isFirst = true;

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.on("data", (chunk: Uint8Array) => {
      for (const frame of this.#frames.read(chunk)) this.#handle(frame);
    });
    socket.on("error", () => {});
    socket.on("close", () => this.closed = true);
  }

  open(headers: Record<string, string>, { id = this.#next, fin = false } = {}): ClientStream {
    this.#next = id + 2;
    const stream: ClientStream = {
      id,
      received: [],
      length: 0,
      replied: false,
      ended: false,
      window: 65_536,
      text: () => Buffer.concat(stream.received).toString(),
      write: (bytes, isLast = false) => this.data(id, Buffer.from(bytes), isLast),
      end: () => void this.data(id, Buffer.alloc(0), true),
    };
    this.streams.set(id, stream);
    const block = this.compress(new Map(Object.entries(headers)));
    this.send({ type: "synStream", stream: id, fin, unidirectional: false, block });
    return stream;
  }

  /** Compresses as a real client does: with the dictionary, and one zlib stream for all blocks. */
  compress(headers: Headers): Uint8Array {
    const text = formatHeaders(headers);
    const flush = { finishFlush: constants.Z_SYNC_FLUSH };
    const block = this.#isFirst ? deflateSync(text, { ...flush, dictionary }) : deflateRawSync(text, flush);
    this.#isFirst = false;
    return block;
  }

  send(frame: ControlFrame): void {
    this.socket.write(encodeControl(frame));
  }

  data(id: number, bytes: Uint8Array, isLast: boolean): boolean {
    const stream = this.streams.get(id);
    if (stream) stream.window -= bytes.length;
    this.socket.write(encodeDataHead(id, bytes.length, isLast));
    return this.socket.write(bytes);
  }

  /** Waits until the server has replied to all streams. */
  async replied(): Promise<void> {
    await waitFor("every stream is open", () => [...this.streams.values()].every(({ replied }) => replied));
  }

  #handle(frame: Frame): void {
    if (frame.type === "unknown") return;
    if (frame.type === "ping") return void this.pings.push(frame.id);
    if (frame.type === "goAway") {
      this.goAway = frame;
      if (this.leaves) this.socket.end();
      return;
    }
    if (frame.type === "settings") return;
    const stream = this.streams.get(frame.stream);
    if (frame.type === "synReply") this.#reading = this.#reading.then(() => this.#replies.read(frame.block));
    if (!stream) return;
    if (frame.type === "synReply") stream.replied = true;
    if (frame.type === "reset") stream.reset = frame.status;
    if (frame.type === "windowUpdate") stream.window += frame.delta;
    if (frame.type !== "data") return;
    if (!stream.replied) throw new Error(`data of stream ${stream.id} came before its reply`);
    stream.received.push(Buffer.from(frame.bytes));
    stream.length += frame.bytes.length;
    stream.ended ||= frame.fin;
    if (!this.keepsWindows || frame.bytes.length === 0) return;
    this.send({ type: "windowUpdate", stream: stream.id, delta: frame.bytes.length });
    this.send({ type: "windowUpdate", stream: 0, delta: frame.bytes.length });
  }
}
