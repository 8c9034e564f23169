import assert from "node:assert/strict";
import { test } from "node:test";
import { createLineStamps, formatStamp } from "../../../src/supervisor/logs/line-stamps.ts";
import { createLogTimes, type Sample } from "../../../src/supervisor/log-times.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("a stamp has nine digits of a second", () => {
  assert.equal(formatStamp(Date.parse("2026-11-17T07:04:14Z")), "2026-11-17T07:04:14.000000000Z ");
  assert.equal(formatStamp(7), "1970-01-01T00:00:00.007000000Z ");
});

test("each line gets its time once, wherever the pieces are cut", async () => {
  const samples = [{ time: 1000, offset: 4 }, { time: 2000, offset: 8 }];
  const text = "one\ntwo\n\nlast";
  const times = [1000, 2000, 3000, 3000];
  const expected = text.split(/(?<=\n)/).map((line, i) => formatStamp(times[i]!) + line).join("");
  for (let size = 1; size <= text.length; size++) {
    const stamps = createLineStamps(async () => createLogTimes(samples, [], 9000), () => 9000);
    let all = "";
    for (let at = 0; at < text.length; at += size) {
      all += decode(await stamps.stamp(at, encode(text.slice(at, at + size)), 3000));
    }
    assert.equal(all, expected, `pieces of ${size} bytes`);
  }
});

test("a slow reader learns of new samples, and shows no time before the one above", async () => {
  const samples: Sample[] = [{ time: 1000, offset: 4 }];
  let elapsed = 0;
  const stamps = createLineStamps(async () => createLogTimes(samples, [], 9000), () => 9000, () => elapsed);
  const stamp = async (position: number, mtimeMs: number) =>
    Date.parse(decode(await stamps.stamp(position, encode("abc\n"), mtimeMs)).split(" ")[0]!);
  assert.equal(await stamp(0, 5000), 1000);
  // Behind the samples: when the log was last changed, never after now.
  assert.equal(await stamp(4, 5000), 5000);
  samples.push({ time: 4000, offset: 8 }, { time: 4500, offset: 12 }, { time: 6000, offset: 16 });
  elapsed = 10_000;
  assert.equal(await stamp(8, 7000), 5000);
  assert.equal(await stamp(12, 7000), 6000);
  assert.equal(await stamp(16, 99_000), 9000);
});
