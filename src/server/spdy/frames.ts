/**
 * Frames of SPDY/3.1 as bytes. Pure.
 *
 * The payload of a data frame, up to 16 MB, is handed on in the pieces in which it arrives. Only control frames are collected, up to
 * a limit.
 */
import { Buffer } from "node:buffer";
import { SpdyError } from "./spdy-error.ts";

export type Frame =
  /** A piece of a data frame; `fin` comes with the last one. */
  | { type: "data"; stream: number; bytes: Uint8Array; fin: boolean }
  | { type: "synStream"; stream: number; fin: boolean; unidirectional: boolean; block: Uint8Array }
  | { type: "synReply" | "headers"; stream: number; fin: boolean; block: Uint8Array }
  | { type: "reset"; stream: number; status: number }
  | { type: "settings"; initialWindow?: number }
  | { type: "ping"; id: number }
  | { type: "goAway"; lastStream: number; status: number }
  | { type: "windowUpdate"; stream: number; delta: number }
  /** A control frame of another type, which is skipped. */
  | { type: "unknown" };

/** What is written in one piece. */
export type ControlFrame = Exclude<Frame, { type: "data" | "unknown" }>;

/** Why a stream was reset. */
export const resetStatus = {
  protocolError: 1,
  refused: 3,
  cancel: 5,
  flowControl: 7,
} as const;

const types = {
  synStream: 1,
  synReply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
};
const headBytes = 8;
const version = 3;
const fin = 1;
const unidirectional = 2;
const initialWindowSetting = 7;
/** There are eight; a client may send some twice. */
const maxSettings = 16;
const bits31 = 0x7fffffff;

/** Splits a connection's bytes into frames. */
export class FrameReader {
  readonly #maxControlBytes: number;
  /** The start of a frame's head or of a control frame. */
  #pending: Buffer = Buffer.alloc(0);
  /** The data frame whose payload arrives. */
  #data: { stream: number; fin: boolean; missing: number } | undefined;

  constructor(maxControlBytes: number) {
    this.#maxControlBytes = maxControlBytes;
  }

  /** Yields the frames that the chunk completes. Throws a SpdyError; after that nothing can be read. */
  *read(chunk: Uint8Array): Generator<Frame> {
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    let bytes: Buffer = this.#pending.length === 0 ? view : Buffer.concat([this.#pending, view]);
    this.#pending = Buffer.alloc(0);
    for (;;) {
      const data = this.#data ?? startOfData(bytes);
      if (data) {
        if (!this.#data) bytes = bytes.subarray(headBytes);
        const piece = bytes.subarray(0, data.missing);
        bytes = bytes.subarray(piece.length);
        const missing = data.missing - piece.length;
        this.#data = missing > 0 ? { ...data, missing } : undefined;
        if (piece.length > 0 || missing === 0) {
          yield { type: "data", stream: data.stream, bytes: piece, fin: data.fin && missing === 0 };
        }
        if (missing > 0) return;
        continue;
      }
      const length = this.#controlLength(bytes);
      if (length === undefined || bytes.length < length) {
        // A copy: the rest of the chunk must not stay in memory for a few bytes.
        this.#pending = Buffer.from(bytes);
        return;
      }
      const frame = parseControl(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
      yield frame;
    }
  }

  /** The length of the control frame that starts here, with its head. */
  #controlLength(bytes: Buffer): number | undefined {
    if (bytes.length < headBytes) return undefined;
    const found = bytes.readUInt16BE(0) & 0x7fff;
    if (found !== version) throw new SpdyError(`version ${found} is not ${version}`);
    const length = bytes.readUIntBE(5, 3);
    if (length > this.#maxControlBytes) {
      throw new SpdyError(`a control frame of ${length} bytes exceeds the limit of ${this.#maxControlBytes}`);
    }
    return headBytes + length;
  }
}

function startOfData(bytes: Buffer) {
  if (bytes.length < headBytes || (bytes[0]! & 0x80) !== 0) return undefined;
  return { stream: bytes.readUInt32BE(0), fin: (bytes[4]! & fin) !== 0, missing: bytes.readUIntBE(5, 3) };
}

function parseControl(bytes: Buffer): Frame {
  const [type, flags, body] = [bytes.readUInt16BE(2), bytes[4]!, bytes.subarray(headBytes)];
  const need = (length: number, most = Infinity) => {
    if (body.length >= length && body.length <= most) return;
    throw new SpdyError(`a control frame of type ${type} has ${body.length} bytes`);
  };
  const number = (offset: number) => body.readUInt32BE(offset) & bits31;
  const isFin = (flags & fin) !== 0;
  switch (type) {
    case types.synStream:
      need(10);
      return {
        type: "synStream",
        stream: number(0),
        fin: isFin,
        unidirectional: (flags & unidirectional) !== 0,
        block: body.subarray(10),
      };
    case types.synReply:
    case types.headers:
      need(4);
      return {
        type: type === types.headers ? "headers" : "synReply",
        stream: number(0),
        fin: isFin,
        block: body.subarray(4),
      };
    case types.reset:
      need(8, 8);
      return { type: "reset", stream: number(0), status: body.readUInt32BE(4) };
    case types.settings:
      need(4);
      need(4 + 8 * body.readUInt32BE(0), 4 + 8 * Math.min(body.readUInt32BE(0), maxSettings));
      return { type: "settings", initialWindow: findInitialWindow(body) };
    case types.ping:
      need(4, 4);
      return { type: "ping", id: body.readUInt32BE(0) };
    case types.goAway:
      need(8, 8);
      return { type: "goAway", lastStream: number(0), status: body.readUInt32BE(4) };
    case types.windowUpdate:
      need(8, 8);
      return { type: "windowUpdate", stream: number(0), delta: number(4) };
    default:
      return { type: "unknown" };
  }
}

function findInitialWindow(body: Buffer): number | undefined {
  for (let at = 4; at < body.length; at += 8) {
    if (body.readUIntBE(at + 1, 3) === initialWindowSetting) return body.readUInt32BE(at + 4) & bits31;
  }
  return undefined;
}

/** The bytes of a control frame. */
export function encodeControl(frame: ControlFrame): Uint8Array {
  switch (frame.type) {
    case "synStream": {
      const flags = (frame.fin ? fin : 0) | (frame.unidirectional ? unidirectional : 0);
      return control(
        types.synStream,
        flags,
        [frame.stream, 0],
        Buffer.concat([Buffer.alloc(2), frame.block]),
      );
    }
    case "synReply":
    case "headers":
      return control(types[frame.type], frame.fin ? fin : 0, [frame.stream], frame.block);
    case "reset":
      return control(types.reset, 0, [frame.stream, frame.status]);
    case "settings":
      return frame.initialWindow === undefined
        ? control(types.settings, 0, [0])
        : control(types.settings, 0, [1, initialWindowSetting, frame.initialWindow]);
    case "ping":
      return control(types.ping, 0, [frame.id]);
    case "goAway":
      return control(types.goAway, 0, [frame.lastStream, frame.status]);
    case "windowUpdate":
      return control(types.windowUpdate, 0, [frame.stream, frame.delta]);
  }
}

/** The head of a data frame; its payload follows. */
export function encodeDataHead(stream: number, length: number, isLast: boolean): Uint8Array {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(stream, 0);
  head[4] = isLast ? fin : 0;
  head.writeUIntBE(length, 5, 3);
  return head;
}

function control(
  type: number,
  flags: number,
  numbers: number[],
  rest: Uint8Array = new Uint8Array(),
): Uint8Array {
  const frame = Buffer.alloc(headBytes + 4 * numbers.length + rest.length);
  frame.writeUInt16BE(0x8000 | version, 0);
  frame.writeUInt16BE(type, 2);
  frame[4] = flags;
  frame.writeUIntBE(frame.length - headBytes, 5, 3);
  numbers.forEach((value, index) => frame.writeUInt32BE(value, headBytes + 4 * index));
  frame.set(rest, headBytes + 4 * numbers.length);
  return frame;
}
