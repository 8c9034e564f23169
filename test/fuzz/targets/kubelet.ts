/** What clients of the kubelet API send: frames, header blocks, whole connections, query strings. */
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { constants, deflateRawSync } from "node:zlib";
import { readLogQuery } from "../../../src/server/kubelet/container-logs.ts";
import { readCommandQuery } from "../../../src/server/kubelet/exec.ts";
import { parsePortHeaders } from "../../../src/server/kubelet/port-forward.ts";
import { parseSize } from "../../../src/server/kubelet/remote-command.ts";
import { encodeControl, encodeDataHead, type Frame, FrameReader } from "../../../src/server/spdy/frames.ts";
import {
  formatHeaders,
  HeaderReader,
  HeaderWriter,
  parseHeaders,
} from "../../../src/server/spdy/header-block.ts";
import { SpdySession } from "../../../src/server/spdy/spdy.ts";
import { holds, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";

/** Samples are texts: their characters up to U+00FF stand for bytes. */
const bytesOf = (input: Uint8Array) => Buffer.from(textOf(input), "latin1");
const sampleOf = (...parts: Uint8Array[]) => Buffer.concat(parts).toString("latin1");
const spdyRefusal = { name: "SpdyError", says: /^SPDY: / };
const maxControlBytes = 16_448;

const writer = new HeaderWriter();
const firstBlock = writer.write(new Map([["streamtype", "error"]]));
const nextBlock = writer.write(new Map([["streamtype", "stdin"], ["port", "80"]]));
const open = (stream: number, block: Uint8Array) =>
  encodeControl({ type: "synStream", stream, fin: false, unidirectional: false, block });
const connection = [
  open(1, firstBlock),
  open(3, nextBlock),
  encodeDataHead(3, 5, false),
  Buffer.from("hello"),
  encodeControl({ type: "ping", id: 1 }),
  encodeControl({ type: "windowUpdate", stream: 3, delta: 65_536 }),
  encodeControl({ type: "settings", initialWindow: 1000 }),
  encodeDataHead(3, 0, true),
  encodeControl({ type: "reset", stream: 1, status: 5 }),
  encodeControl({ type: "goAway", lastStream: 0, status: 0 }),
];
const frameTokens = ["\x80\x03", "\0\x01", "\0\x09", "\xff\xff\xff", "\x7f\xff\xff\xff", "\0\0\0\x01"];

const frames: Target = {
  name: "spdy-frames",
  covers: ["FrameReader"],
  samples: [sampleOf(...connection), ...connection.map((frame) => sampleOf(frame))],
  tokens: frameTokens,
  refusal: spdyRefusal,
  open: () => ({
    run(input) {
      const bytes = bytesOf(input);
      const whole = readAll(bytes, bytes.length);
      const cut = readAll(bytes, 7);
      holds(
        JSON.stringify(whole.frames) === JSON.stringify(cut.frames),
        "the frames depend on how the bytes arrive",
      );
      holds(whole.error?.message === cut.error?.message, "the error depends on how the bytes arrive");
      holds(whole.dataBytes <= bytes.length, "more data than there are bytes");
      if (whole.error) throw whole.error;
    },
  }),
};

function readAll(bytes: Uint8Array, size: number) {
  const reader = new FrameReader(maxControlBytes);
  const found: { stream?: number; text: string; fin?: boolean }[] = [];
  let dataBytes = 0;
  const add = (frame: Frame) => {
    if (frame.type !== "data") return void found.push({ text: JSON.stringify(frame) });
    dataBytes += frame.bytes.length;
    const { stream, fin } = frame;
    const before = found.at(-1);
    const text = Buffer.from(frame.bytes).toString("hex");
    if (before?.stream === stream && !before.fin) Object.assign(before, { text: before.text + text, fin });
    else found.push({ stream, text, fin });
  };
  try {
    for (let at = 0; at < bytes.length; at += size) {
      for (const frame of reader.read(bytes.subarray(at, at + size))) add(frame);
    }
    return { frames: found, dataBytes };
  } catch (error) {
    // What was read before depends on the cut; only the error itself must not.
    return { frames: [], dataBytes, error: error as Error };
  }
}

const limit = 4096;
const compressed = (text: Uint8Array) =>
  Buffer.concat([Buffer.from([0x78, 0x01]), deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH })]);
const blocks: Target = {
  name: "spdy-headers",
  covers: ["HeaderReader", "parseHeaders"],
  samples: [
    sampleOf(firstBlock),
    sampleOf(compressed(formatHeaders(new Map([["streamtype", "stdin"], ["requestid", "7"]])))),
    sampleOf(formatHeaders(new Map([["streamtype", "stdin"], ["port", "8080"]]))),
    sampleOf(compressed(formatHeaders(new Map([["a", "x".repeat(100_000)]])))),
  ],
  tokens: ["\x78\xbb\xe3\xc6\xa7\xc2", "\0\0\0\x01", "\xff\xff\xff\xff", "\0\0\xff\xff"],
  refusal: spdyRefusal,
  open: () => ({
    async run(input) {
      const bytes = bytesOf(input);
      const reader = new HeaderReader(limit);
      const read = await reader.read(bytes).catch((error: Error) => error);
      reader.close();
      for (const headers of [read, orError(() => parseHeaders(bytes))]) {
        if (headers instanceof Error) {
          if (headers.name !== "SpdyError") throw headers;
          continue;
        }
        const size = [...headers].flat().join("").length;
        holds(size <= Math.max(limit, bytes.length), `${size} characters of headers`);
        holds(
          [...headers.keys()].every((name) => name !== "" && name === name.toLowerCase()),
          "a name in capitals",
        );
        parsePortHeaders(headers);
      }
      parseHeaders(bytes);
    },
  }),
};

function orError<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error as Error;
  }
}

const limits = {
  streams: 4,
  headerBytes: 1024,
  waitingBytes: 4096,
  unsentBytes: 65_536,
  idleMs: 60_000,
  lingerMs: 1,
};
const sessions: Target = {
  name: "spdy-session",
  covers: ["SpdySession", "SpdyStream"],
  samples: [
    sampleOf(...connection),
    sampleOf(...connection.slice(0, 5)),
    sampleOf(open(1, firstBlock), ...connection),
  ],
  tokens: frameTokens,
  open: () => ({
    async run(input) {
      let sent = 0;
      const socket = new Duplex({
        read() {},
        write(chunk: Uint8Array, _, done) {
          sent += chunk.length;
          done();
        },
      });
      let streams = 0;
      const session = new SpdySession(socket, {
        limits,
        accept: () => (stream) => {
          streams++;
          if (streams % 2 === 1) stream.pipe(stream);
          else stream.write("hello");
        },
      });
      const bytes = bytesOf(input);
      for (let at = 0; at < bytes.length && !socket.destroyed; at += 1000) {
        socket.push(bytes.subarray(at, at + 1000));
        await new Promise((resolve) => setImmediate(resolve));
      }
      socket.push(null);
      // One that is not read has to be ended from this side.
      await new Promise((resolve) => setImmediate(resolve));
      session.destroy();
      const why = await session.closed;
      holds(why === undefined || why.name === "SpdyError", `it ended with ${why}`);
      holds(sent <= 200 + 4 * bytes.length + 20 * streams, `${sent} bytes for ${bytes.length}`);
    },
  }),
};

const queries: Target = {
  name: "kubelet-query",
  covers: ["readLogQuery", "readCommandQuery", "parseSize"],
  samples: [
    "follow=true&tailLines=10&sinceSeconds=60&limitBytes=500&timestamps=true",
    "sinceTime=2026-11-17T07:00:00Z&previous=true",
    "command=sh&command=-c&command=exit%207&input=1&output=1&error=1&tty=1",
    '{"Width":80,"Height":24}',
  ],
  tokens: ["&", "=", "%00", "%", "+", "command", "tailLines", "sinceTime", "1", "true", "\0"],
  maxBytes: 8192,
  open: () => ({
    run(input) {
      const text = textOf(input);
      const size = parseSize(text);
      if (size) {
        holds(size.columns > 0 && size.columns < 65_536 && size.rows > 0, "a size that no terminal has");
      }
      const url = new URL(`https://node/x?${text}`);
      const log = orRefusal(() => readLogQuery(url));
      if (log?.sinceTime) holds(!Number.isNaN(log.sinceTime.getTime()), "a time that is none");
      const command = orRefusal(() => readCommandQuery(url));
      if (command) holds(command.command.every((word) => !word.includes("\0")), "a NUL byte in a command");
    },
  }),
};

function orRefusal<T>(work: () => T): T | undefined {
  const result = orError(work);
  if (!(result instanceof Error)) return result;
  const { code } = result as Error & { code?: number };
  if (code !== 400) throw result;
  holds(result.message.length < 400, "a long message");
  return undefined;
}

export const kubeletTargets: readonly Target[] = [frames, blocks, sessions, queries];
