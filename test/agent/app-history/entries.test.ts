import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import {
  compact,
  decodeEntries,
  encodeEntries,
  keptMs,
  mergeEqual,
  shorten,
} from "../../../src/agent/app-history/entries.ts";
import type { HistoryEntry } from "../../../src/server/view.ts";
import { runs } from "../../properties.ts";

const now = 1_800_000_000_000;
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const event = (time: number, reason = "Exited", message = "Ended with status 1"): HistoryEntry => ({
  time,
  type: "Warning",
  reason,
  message,
});
const sample = (time: number): HistoryEntry => ({
  time,
  usage: { cpuPCT: 12.5, memPCT: 3, throttledPCT: undefined },
});

test("what is written is read again: an event with its exit, and a sample in few bytes", () => {
  const exit = { id: "run-1", code: 137, signal: "SIGKILL", reason: "OOMKilled", message: "a\nb" };
  const entries = [{ ...event(now), exit }, sample(now)];
  assert.deepEqual(decodeEntries(encodeEntries(entries)), entries);
  assert.ok(encodeEntries([sample(now)]).length < 40);
});

test("a torn line is skipped, and does not harm the one that is added after it", () => {
  const [first, torn, next] = [event(now, "A"), event(now, "B"), event(now, "C")].map((entry) =>
    encodeEntries([entry])
  );
  for (let length = 0; length < torn!.length; length++) {
    const text = first + torn!.slice(0, length) + next;
    assert.deepEqual(decodeEntries(text).map(({ reason }) => reason), ["A", "C"]);
  }
});

test("lines of other programs and versions are skipped", () => {
  for (
    const text of ["null", "[]", "7", "{}", '{"time":"x","reason":"A"}', '{"t":1}', '{"time":1}', "\0\0"]
  ) {
    assert.deepEqual(decodeEntries(`\n${text}`), [], text);
  }
});

test("the text of one entry is bounded, and of the log its end stays", () => {
  const message = "x".repeat(5000);
  const { message: kept, exit } = shorten({ ...event(now), message, exit: { message: `${message}end` } });
  assert.deepEqual([kept?.length, exit?.message?.length, exit?.message?.endsWith("end")], [1024, 1024, true]);
});

test("equal events are one with their count, the last text, and the time of the first", () => {
  const entries = [1, 2, 3].map((pid) => event(now + pid, "Started", `Started a.sh as process ${pid}`));
  assert.deepEqual(mergeEqual([...entries, event(now + 9, "Stopping")]), [
    { ...entries[2], count: 3, since: now + 1 },
    event(now + 9, "Stopping"),
  ]);
  assert.deepEqual(mergeEqual(mergeEqual(entries)), mergeEqual(entries));
});

test("an app that crashes every five minutes keeps the start of that for days, and its samples", () => {
  const entries: HistoryEntry[] = [event(now - 3 * dayMs, "Edited", "The spec was changed: args")];
  for (let time = now - 3 * dayMs; time < now; time += 5 * minuteMs) {
    entries.push(event(time, "Started", `Started a.sh as process ${time}`), event(time), sample(time));
  }
  const kept = compact(entries, now, 49_152);
  assert.equal(kept[0]?.reason, "Edited");
  assert.ok(Buffer.byteLength(encodeEntries(kept)) <= 49_152);
  const exits = kept.filter(({ reason }) => reason === "Exited");
  assert.equal(exits.reduce((sum, { count = 1 }) => sum + count, 0), 3 * 24 * 12);
  assert.equal(kept.filter(({ usage, time }) => usage && now - time <= dayMs).length, 288);
  assert.ok(kept.filter(({ usage, time }) => usage && now - time > dayMs).length <= 2 * 24 + 1);
});

test("a file never has more than its bytes and its days, and always the newest event", () => {
  const entry = fc.record({
    ago: fc.integer({ min: 0, max: 9 * dayMs }),
    kind: fc.nat(4),
    length: fc.nat(1000),
  });
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 200 }),
      fc.integer({ min: 2000, max: 65_536 }),
      (worlds, maxBytes) => {
        const entries = worlds.sort((a, b) => b.ago - a.ago).map(({ ago, kind, length }) =>
          kind === 0 ? sample(now - ago) : event(now - ago, `R${kind}`, "é".repeat(Math.floor(length / 2)))
        );
        const kept = compact(entries, now, maxBytes);
        assert.ok(Buffer.byteLength(encodeEntries(kept)) <= maxBytes);
        assert.ok(kept.every(({ time }) => now - time < keptMs));
        const newest = entries.findLast(({ time, usage }) => !usage && now - time < hourMs);
        if (newest) assert.equal(kept.findLast(({ usage }) => !usage)?.time, newest.time);
        assert.deepEqual(compact(kept, now, maxBytes), kept);
      },
    ),
    runs(300),
  );
});
