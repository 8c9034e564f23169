import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  type ControlFrame,
  encodeControl,
  encodeDataHead,
  type Frame,
  FrameReader,
} from "../../../src/server/spdy/frames.ts";

const block = Buffer.from("block");

/** Frames with their bytes, written down by hand from the specification. */
const table: [hex: string, frame: ControlFrame][] = [
  ["80030001 0100000f 00000003 00000000 0000 626c6f636b", {
    type: "synStream",
    stream: 3,
    fin: true,
    unidirectional: false,
    block,
  }],
  ["80030002 00000009 00000005 626c6f636b", { type: "synReply", stream: 5, fin: false, block }],
  ["80030008 01000009 00000005 626c6f636b", { type: "headers", stream: 5, fin: true, block }],
  ["80030003 00000008 00000007 00000005", { type: "reset", stream: 7, status: 5 }],
  ["80030004 0000000c 00000001 00000007 00010000", { type: "settings", initialWindow: 65_536 }],
  ["80030004 00000004 00000000", { type: "settings", initialWindow: undefined }],
  ["80030006 00000004 00000001", { type: "ping", id: 1 }],
  ["80030007 00000008 00000009 00000001", { type: "goAway", lastStream: 9, status: 1 }],
  ["80030009 00000008 00000003 00008000", { type: "windowUpdate", stream: 3, delta: 32_768 }],
];
const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const readAll = (
  bytes: Uint8Array,
  maxControlBytes = 1024,
) => [...new FrameReader(maxControlBytes).read(bytes)];

test("every control frame is written and read as the specification says", () => {
  for (const [hex, frame] of table) {
    assert.equal(Buffer.from(encodeControl(frame)).toString("hex"), bytesOf(hex).toString("hex"), frame.type);
    assert.deepEqual(plain(readAll(bytesOf(hex))), plain([frame]));
  }
});

test("frames are the same however their bytes are cut", () => {
  const all = Buffer.concat([
    ...table.map(([hex]) => bytesOf(hex)),
    encodeDataHead(3, 5, false),
    Buffer.from("hello"),
    encodeDataHead(3, 0, true),
    bytesOf(table[6]![0]),
  ]);
  const whole = joined(readAll(all));
  for (let size = 1; size < all.length; size++) {
    const reader = new FrameReader(1024);
    const frames: Frame[] = [];
    for (let at = 0; at < all.length; at += size) frames.push(...reader.read(all.subarray(at, at + size)));
    assert.deepEqual(joined(frames), whole, `in chunks of ${size}`);
  }
});

test("the payload of a data frame is passed on before the frame is complete", () => {
  const reader = new FrameReader(16);
  const first = [...reader.read(Buffer.concat([encodeDataHead(1, 1 << 23, true), Buffer.alloc(100)]))];
  assert.deepEqual(first.map((frame) => frame.type === "data" && [frame.bytes.length, frame.fin]), [[
    100,
    false,
  ]]);
  const rest = [...reader.read(Buffer.alloc((1 << 23) - 100))];
  assert.deepEqual(rest.map((frame) => frame.type === "data" && frame.fin), [true]);
});

test("another version, a frame that is too long and one that is too short are refused; unknown types are skipped", () => {
  assert.throws(() => readAll(bytesOf("80020006 00000004 00000001")), /SPDY: version 2 is not 3/);
  assert.throws(() => readAll(bytesOf("80030001 00100000")), /1048576 bytes exceeds the limit of 1024/);
  for (const [hex] of table) {
    const bytes = bytesOf(hex);
    const short = Buffer.concat([bytes.subarray(0, 5), Buffer.from([0, 0, 3]), Buffer.alloc(3)]);
    assert.throws(() => readAll(short), /SPDY: a control frame of type \d has 3 bytes/);
  }
  assert.deepEqual(readAll(bytesOf("80030063 00000002 0000")), [{ type: "unknown" }]);
});

test("frames whose size the protocol fixes have that size", () => {
  const wrong = [
    "80030006 00000008 00000001 00000000",
    "80030003 0000000c 00000007 00000005 00000000",
    "80030009 0000000c 00000003 00008000 00000000",
    "80030007 0000000c 00000009 00000001 00000000",
    // Says that it has two entries, or none, and has one; or has more than there are settings.
    "80030004 0000000c 00000002 00000007 00010000",
    "80030004 0000000c 00000000 00000007 00010000",
    `80030004 0000008c 00000011 ${"00000007 00010000 ".repeat(17)}`,
  ];
  for (const hex of wrong) {
    assert.throws(() => readAll(bytesOf(hex)), /SPDY: a control frame of type \d has \d+ bytes/, hex);
  }
});

/** Data pieces of one frame as one, so that cuts do not matter. */
function joined(frames: Frame[]): unknown[] {
  const result: unknown[] = [];
  let data = "";
  for (const frame of frames) {
    if (frame.type !== "data") result.push(...plain([frame]));
    else {
      data += Buffer.from(frame.bytes).toString();
      if (frame.fin) result.push(`${frame.stream} ${data}`);
    }
  }
  return result;
}

function plain(frames: Frame[]): unknown[] {
  return frames.map((frame) =>
    "block" in frame ? { ...frame, block: Buffer.from(frame.block).toString() } : frame
  );
}
