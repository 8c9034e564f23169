import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtemp, unlink } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { listParts, readLog, type ReadLogOptions } from "../../../src/supervisor/logs/logs.ts";
import { tempFolder } from "../../temp-folder.ts";
import { createLog } from "./log-files.ts";

const root = tempFolder({ after }).path;
const newLog = async () => createLog(await mkdtemp(join(root, "case-")));
const text = (bytes?: Uint8Array) => Buffer.from(bytes ?? []).toString();

test("lines since a time are never too few, and too many by a second at most; their times are right to a second", async () => {
  const second = 1000;
  /** What a launcher does: a line, written so long after the one before it, perhaps in a new part or by a new run. */
  const line = fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: 1500 }), fc.integer({ min: 0, max: 60_000 })),
    isRotated: fc.boolean(),
    isStart: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 30 }), fc.nat(), async (lines, seed) => {
      const log = await newLog();
      let [now, sampled] = [1_700_000_000_000, -Infinity];
      const written: { at: number; text: string }[] = [];
      for (const { after, isRotated, isStart } of lines) {
        now += after;
        if (isRotated && written.length > 0) {
          await log.rotate();
          sampled = -Infinity;
        }
        const isDue = isStart || now - sampled >= second;
        const text = `${written.length}\n`;
        await log.write(text, isDue ? now : undefined, { isStart });
        if (isDue) sampled = now;
        written.push({ at: now, text });
      }
      const read = async (options: ReadLogOptions) => {
        let all = "";
        for await (const piece of readLog(log.folder, options, { now: () => now })) all += text(piece);
        return all.split(/(?<=\n)/);
      };
      for (const [i, stamped] of (await read({ timestamps: true })).entries()) {
        const { at, text } = written[i]!;
        assert.equal(stamped.slice(31), text);
        const early = at - Date.parse(stamped.slice(0, 30));
        assert.ok(early >= 0 && early <= second, `line ${i} is ${early} ms early`);
      }
      const since = written[0]!.at + seed % (now - written[0]!.at + 1);
      const [first = ""] = await read({ sinceTime: new Date(since) });
      const shown = written.slice(first === "" ? written.length : Number(first));
      assert.ok(
        written.filter(({ at }) => at >= since).every((line) => shown.includes(line)),
        "none is missing",
      );
      assert.ok(shown.every(({ at }) => at > since - 2 * second), "none is older");
      const starts = lines.flatMap(({ isStart }, i) => isStart ? [i] : []);
      const [previous, current] = starts.length > 1 ? starts.slice(-2) : [0, starts[0] ?? 0];
      const expected = written.slice(previous, current).map(({ text }) => text);
      assert.deepEqual((await read({ previous: true })).filter(Boolean), expected);
    }),
    { numRuns: 25 },
  );
});

test("a part without its index has the time of its last change", async () => {
  const log = await newLog();
  await log.write("one\n", 1_700_000_000_000);
  const [part] = await listParts(log.folder);
  const time = async () => {
    let all = "";
    for await (const piece of readLog(log.folder, { timestamps: true })) all += text(piece);
    return Date.parse(all.slice(0, 30));
  };
  assert.equal(await time(), 1_700_000_000_000);
  await unlink(part!.indexPath);
  assert.ok(Math.abs(await time() - Date.now()) < 60_000);
});
