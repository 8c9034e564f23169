import assert from "node:assert/strict";
import { test } from "node:test";
import { createLineStamps, formatStamp } from "../../../src/supervisor/logs/line-stamps.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const sample = (time: number, position: number) => ({ time, position, isStart: false });

test("a stamp has nine digits of a second", () => {
  assert.equal(formatStamp(Date.parse("2026-11-17T07:04:14Z")), "2026-11-17T07:04:14.000000000Z ");
  assert.equal(formatStamp(7), "1970-01-01T00:00:00.007000000Z ");
});

test("each line gets its time once, wherever the pieces are cut", () => {
  const samples = [sample(1000, 0), sample(2000, 4), sample(3000, 6), sample(3500, 9)];
  const text = "one\ntwo\n\nlast";
  const times = [1000, 2000, 3000, 3500];
  const expected = text.split(/(?<=\n)/).map((line, i) => formatStamp(times[i]!) + line).join("");
  for (let size = 1; size <= text.length; size++) {
    const stamp = createLineStamps(() => 9000);
    let all = "";
    for (let position = 0; position < text.length; position += size) {
      const first = samples.findLastIndex((each) => each.position <= position);
      const bytes = encode(text.slice(position, position + size));
      all += decode(stamp({ position, bytes }, samples.slice(first)));
    }
    assert.equal(all, expected, `pieces of ${size} bytes`);
  }
});

test("no line has a time before that of the line above, or in the future", () => {
  const stamp = createLineStamps(() => 9000);
  const samples = [sample(5000, 0), sample(4000, 4), sample(99_000, 8)];
  const text = decode(stamp({ position: 0, bytes: encode("abc\ndef\nghi\n") }, samples));
  assert.deepEqual(text.trimEnd().split("\n").map((line) => Date.parse(line.slice(0, 30))), [
    5000,
    5000,
    9000,
  ]);
});
