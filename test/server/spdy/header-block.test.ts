import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { test } from "node:test";
import { constants, createDeflate, createInflate, deflateSync } from "node:zlib";
import { dictionary, zlibHeader } from "../../../src/server/spdy/dictionary.ts";
import {
  formatHeaders,
  HeaderReader,
  HeaderWriter,
  parseHeaders,
} from "../../../src/server/spdy/header-block.ts";

const stream = (type: string) => new Map([["streamtype", type], [":version", "HTTP/1.1"]]);

test("the dictionary is that of SPDY/3, by its length and checksum", () => {
  assert.equal(dictionary.length, 1423);
  let [low, high] = [1, 0];
  for (const byte of dictionary) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  assert.equal(Buffer.from(zlibHeader.subarray(2)).readUInt32BE(), high * 65_536 + low);
});

test("blocks of one zlib stream, each of which refers to those before it, are read one by one", async () => {
  const deflate = createDeflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
  const reader = new HeaderReader(16_384);
  const sizes: number[] = [];
  for (let round = 0; round < 40; round++) {
    for (const type of ["error", "stdin", "stdout"]) {
      const headers = new Map([...stream(type), ["noise", `${round}`.repeat(300)]]);
      deflate.write(formatHeaders(headers));
      deflate.flush(constants.Z_SYNC_FLUSH);
      if (deflate.readableLength === 0) await once(deflate, "readable");
      await new Promise((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve as () => void));
      const block = deflate.read() as Buffer;
      sizes.push(block.length);
      assert.deepEqual(await reader.read(block), headers);
    }
  }
  assert.ok(sizes[1]! < sizes[0]!, "the second block refers to the first");
  deflate.destroy();
  reader.close();
});

test("a reader has one context for all its blocks, and frees it when it is closed", async () => {
  const reader = new HeaderReader(16_384);
  const writer = new HeaderWriter();
  for (let at = 0; at < 100; at++) assert.equal((await reader.read(writer.write(stream("error")))).size, 2);
  const reading = reader.read(writer.write(stream("stdin")));
  reader.close();
  await assert.rejects(reading, /SPDY: /);
  await assert.rejects(reader.read(writer.write(stream("stdin"))), /SPDY: the connection is over/);
});

test("what is written is what a zlib with the dictionary reads, block by block", async () => {
  const writer = new HeaderWriter();
  const inflate = createInflate({ dictionary });
  for (const headers of [new Map(), stream("error"), new Map()]) {
    inflate.write(writer.write(headers));
    await once(inflate, "readable");
    assert.deepEqual(parseHeaders(inflate.read()), headers);
  }
  inflate.destroy();
});

test("header names come in lower case, and of several values the first counts", () => {
  const text = formatHeaders(new Map([["StreamType", "stdin\0stdout"]]));
  assert.deepEqual(parseHeaders(text), new Map([["streamtype", "stdin"]]));
});

test("a block that expands beyond the limit, is damaged, or uses another dictionary is refused", async () => {
  const read = (limit: number, block: Uint8Array) => new HeaderReader(limit).read(block);
  const bomb = formatHeaders(new Map([["a", "x".repeat(1 << 20)]]));
  const flush = { finishFlush: constants.Z_SYNC_FLUSH };
  await assert.rejects(
    read(16_384, deflateSync(bomb, { ...flush, dictionary })),
    /SPDY: a header block of \d+ bytes is damaged or expands to more than 16384/,
  );
  await assert.rejects(
    read(100, Buffer.from("no zlib")),
    /SPDY: the first header block is not zlib/,
  );
  const other = Buffer.from([0x78, 0xbb, 1, 2, 3, 4, 0, 0, 0]);
  await assert.rejects(read(100, other), /another dictionary/);
  const cut = deflateSync(formatHeaders(stream("error")), { ...flush, dictionary }).subarray(0, 12);
  await assert.rejects(read(100, cut), /SPDY: a header block/);
});

test("too many headers, a repeated name and lengths beyond the end are refused", () => {
  const many = new Map(Array.from({ length: 65 }, (_, at) => [`h${at}`, ""]));
  assert.throws(() => parseHeaders(formatHeaders(many)), /65 headers are more than 64/);
  const twice = Buffer.concat([
    Buffer.from([0, 0, 0, 2]),
    formatHeaders(new Map([["a", "1"]])).subarray(4),
    formatHeaders(new Map([["A", "2"]])).subarray(4),
  ]);
  assert.throws(() => parseHeaders(twice), /a name twice/);
  assert.throws(() => parseHeaders(Buffer.from([0, 0, 0, 1, 255, 255, 255, 255])), /ends at byte 8/);
  assert.throws(() => parseHeaders(Buffer.from([0, 0])), /ends at byte 0/);
});
