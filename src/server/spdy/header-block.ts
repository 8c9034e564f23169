/**
 * Header blocks: names and values, compressed with zlib over all blocks of one direction of a connection.
 *
 * A connection has one inflate context, of at most 48 KiB, which is freed with it. Every block ends at a byte, since its writer
 * flushes, so all text of a block is there once its last byte was taken. Inflating happens in Node's thread pool; a block that expands
 * beyond its limit fails before more of it is inflated. Blocks that this side writes are not compressed; they are a few bytes long.
 */
import { Buffer } from "node:buffer";
import { constants, createInflateRaw, type InflateRaw } from "node:zlib";
import { dictionary, zlibHeader } from "./dictionary.ts";
import { SpdyError } from "./spdy-error.ts";

/** By name, in lower case. Of several values of one name, the first counts. */
export type Headers = ReadonlyMap<string, string>;

const maxHeaders = 64;
const chunkBytes = 4096;

/** Reads the blocks of one connection, one at a time and in their order. Rejects with a SpdyError; after that nothing can be read. */
export class HeaderReader {
  readonly #maxBytes: number;
  #inflater: InflateRaw | undefined;
  #isClosed = false;
  /** Gets the text of the current block. */
  #take: (text: Uint8Array) => void = () => {};
  #fail: (cause?: Error) => void = () => {};

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  async read(block: Uint8Array): Promise<Headers> {
    if (this.#isClosed) throw new SpdyError("the connection is over");
    const isFirst = this.#inflater === undefined;
    const bytes = isFirst ? withoutZlibHeader(block) : block;
    // Deno's zlib has no dictionaries: the text goes first, as a block without compression.
    if (isFirst) await this.#inflate(stored(dictionary), dictionary.length);
    return parseHeaders(await this.#inflate(bytes, this.#maxBytes));
  }

  /** Frees the context. */
  close(): void {
    this.#isClosed = true;
    this.#inflater?.destroy();
    this.#fail();
  }

  #inflate(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
    const inflater = this.#inflater ??= this.#open();
    const pieces: Uint8Array[] = [];
    let length = 0;
    return new Promise((resolve, reject) => {
      this.#fail = (cause) => {
        inflater.destroy();
        const what = `a header block of ${bytes.length} bytes is damaged or expands to more than ${maxBytes}`;
        reject(new SpdyError(what, { cause }));
      };
      this.#take = (text) => {
        length += text.length;
        if (length > maxBytes) return this.#fail();
        pieces.push(text);
      };
      inflater.write(bytes, (error) => error ? this.#fail(error) : resolve(Buffer.concat(pieces)));
    });
  }

  #open(): InflateRaw {
    const inflater = createInflateRaw({ chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH });
    inflater.on("data", (text: Uint8Array) => this.#take(text));
    inflater.on("error", (error) => this.#fail(error));
    // A zlib stream that ends is damaged: its connection has more blocks.
    inflater.on("end", () => this.#fail());
    return inflater;
  }
}

/** Writes the blocks of one connection, in their order. */
export class HeaderWriter {
  #isFirst = true;

  write(headers: Headers): Uint8Array {
    const text = formatHeaders(headers);
    const start = this.#isFirst ? zlibHeader : new Uint8Array();
    this.#isFirst = false;
    // The empty block makes readers hand out what they have: they wait for the end of a stream otherwise.
    return Buffer.concat([start, stored(text), stored(new Uint8Array())]);
  }
}

/** Parses the text of a header block. */
export function parseHeaders(text: Uint8Array): Headers {
  const view = Buffer.from(text.buffer, text.byteOffset, text.length);
  let position = 0;
  const number = () => {
    if (position + 4 > view.length) throw new SpdyError(`a header block ends at byte ${position}`);
    return view.readUInt32BE((position += 4) - 4);
  };
  const word = () => {
    const length = number();
    if (position + length > view.length) throw new SpdyError(`a header block ends at byte ${position}`);
    return view.toString("utf8", position, position += length);
  };
  const count = number();
  if (count > maxHeaders) throw new SpdyError(`${count} headers are more than ${maxHeaders}`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const [name, value] = [word().toLowerCase(), word()];
    if (name === "" || headers.has(name)) {
      throw new SpdyError("a header block has a name twice, or an empty one");
    }
    headers.set(name, value.split("\0", 1)[0] ?? "");
  }
  return headers;
}

export function formatHeaders(headers: Headers): Uint8Array {
  const words = [...headers].flat().flatMap((word) => {
    const bytes = Buffer.from(word, "utf8");
    return [uint32(bytes.length), bytes];
  });
  return Buffer.concat([uint32(headers.size), ...words]);
}

function withoutZlibHeader(block: Uint8Array): Uint8Array {
  const [method = 0, flags = 0] = block;
  const usesDictionary = (flags & 0x20) !== 0;
  if ((method & 0x0f) !== 8 || (method << 8 | flags) % 31 !== 0) {
    throw new SpdyError("the first header block is not zlib");
  }
  if (usesDictionary && !zlibHeader.subarray(2).every((byte, index) => byte === block[index + 2])) {
    throw new SpdyError("the first header block uses another dictionary than SPDY/3");
  }
  return block.subarray(usesDictionary ? 6 : 2);
}

/** A deflate block without compression. */
function stored(bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return Buffer.concat([head, bytes]);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
