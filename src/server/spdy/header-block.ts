/**
 * Header blocks: names and values, compressed with zlib over all blocks of one direction of a connection.
 *
 * Every block ends at a byte, since its writer flushes, and may refer to the 32 KiB before it. So a block is read on its own, after
 * those: the state of a connection is that text, without a zlib context, and a block that expands beyond its limit fails at once.
 * Blocks that this side writes are not compressed; they are a few bytes long.
 */
import { Buffer } from "node:buffer";
import { constants, inflateRawSync } from "node:zlib";
import { dictionary, zlibHeader } from "./dictionary.ts";
import { SpdyError } from "./spdy-error.ts";

/** By name, in lower case. Of several values of one name, the first counts. */
export type Headers = ReadonlyMap<string, string>;

const windowBytes = 32_768;
const maxHeaders = 64;

/** Reads the blocks of one connection, in their order. Throws a SpdyError; after that nothing can be read. */
export class HeaderReader {
  #history: Uint8Array = dictionary;
  #isFirst = true;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  read(block: Uint8Array): Headers {
    const text = this.#inflate(this.#isFirst ? withoutZlibHeader(block) : block);
    this.#isFirst = false;
    this.#history = Buffer.concat([this.#history, text]).subarray(-windowBytes);
    return parseHeaders(text);
  }

  #inflate(block: Uint8Array): Uint8Array {
    const before = this.#history;
    try {
      // The history goes first, as a block without compression; Deno's zlib has no dictionaries.
      return inflateRawSync(Buffer.concat([stored(before), block]), {
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: before.length + this.#maxBytes,
      }).subarray(before.length);
    } catch (cause) {
      throw new SpdyError(
        `a header block of ${block.length} bytes is damaged or expands to more than ${this.#maxBytes}`,
        { cause },
      );
    }
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
