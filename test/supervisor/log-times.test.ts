import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addSample,
  createLogTimes,
  encodeSamples,
  parseSamples,
  previousRun,
  type Sample,
  thinOut,
} from "../../src/supervisor/log-times.ts";
import { mostly, runs } from "../properties.ts";

const now = 1_000_000;
const [runA, runB, runC] = ["a-0000000000", "b-1111111111", "c-2222222222"];
const at = (time: number, offset: number, run?: string): Sample => ({
  time,
  offset,
  ...(run ? { run } : {}),
});

test("samples are lines of text; what is not a sample is skipped", () => {
  const samples = [at(10, 0, runA), at(20, 100), at(30, 250, runB)];
  const text = encodeSamples(samples);
  assert.equal(text, `10 0 ${runA}\n20 100\n30 250 ${runB}\n`);
  assert.deepEqual(parseSamples(text), samples);
  const broken: [string, Sample[]][] = [
    ["", []],
    ["10 0", [at(10, 0)]],
    ["20 10020 200\n30 300\n", [at(30, 300)]],
    ["\0\0\0\0\n30 300\n", [at(30, 300)]],
    ["-1 5\n1 -5\n1.5 2\n1 2 3\n1 2 UPPER\n", []],
    ["9999999999999999 1\n1 99999999999999999\n1 9999999999999999\n", []],
    [`10 0 ${runA} x\n10  0\n 10 0\n`, []],
  ];
  for (const [text, expected] of broken) assert.deepEqual(parseSamples(text), expected, JSON.stringify(text));
});

test("a byte has the time of the first sample behind it", () => {
  const times = createLogTimes([at(10, 100), at(20, 200), at(20, 300), at(40, 400)], [], now);
  const cases: [number, number | undefined][] = [[0, 10], [99, 10], [100, 20], [299, 20], [300, 40], [
    400,
    undefined,
  ]];
  for (const [offset, time] of cases) assert.equal(times.timeAt(offset), time, `byte ${offset}`);
  const starts: [number, number][] = [[5, -Infinity], [10, -Infinity], [11, 100], [20, 100], [21, 300], [
    41,
    400,
  ]];
  for (const [time, offset] of starts) assert.equal(times.offsetAt(time), offset, `time ${time}`);
  assert.deepEqual(times.last, at(40, 400));
});

test("without samples, the times of the files count; with them, only those before and behind", () => {
  const files = [at(100, 1000), at(200, 2000), at(300, 2500)];
  assert.equal(createLogTimes([], files, now).timeAt(999), 100);
  assert.equal(createLogTimes([], files, now).timeAt(2400), 300);
  const times = createLogTimes([at(150, 1500), at(160, 2200)], files, now);
  assert.deepEqual([999, 1000, 1999, 2300].map(times.timeAt), [100, 150, 160, 300]);
  // The clock was set back, or the file system has another one: no time before the last sample, none after now.
  assert.equal(createLogTimes([at(150, 1500)], [at(20, 1600)], now).timeAt(1550), 150);
  assert.equal(createLogTimes([at(150, 1500)], [at(2 * now, 1600)], now).timeAt(1550), now);
});

test("a clock that was wrong for a while does no lasting harm", () => {
  const good = [at(100, 10), at(110, 20), at(120, 30)];
  const later = [at(130, 60), at(140, 70), at(150, 80)];
  // Before the clock was set at boot, and one that was ahead.
  for (const wrong of [[at(1, 40), at(2, 50)], [at(900, 40), at(910, 50)]]) {
    const times = createLogTimes([...good, ...wrong, ...later], [], now);
    assert.deepEqual([0, 15, 25, 35, 45, 65, 75].map(times.timeAt), [100, 110, 120, 130, 130, 140, 150]);
  }
  const future = createLogTimes([...good, at(2 * now, 40)], [at(125, 45)], now);
  assert.deepEqual([25, 35, 42].map(future.timeAt), [120, 125, 125]);
  // Set back for good: what was stamped ahead of it counts as written when the next sample was taken.
  assert.equal(createLogTimes([at(500, 10), at(100, 20), at(110, 30)], [], 115).timeAt(5), 100);
});

test("a log that became shorter forgets the samples of its old bytes, not its runs", () => {
  const samples = [at(10, 0, runA), at(20, 100), at(30, 200, runB), at(40, 300)];
  assert.deepEqual(addSample(samples, at(50, 150)), [
    at(10, 0, runA),
    at(20, 100),
    at(30, 150, runB),
    at(50, 150),
  ]);
});

test("the previous run is between the last two starts", () => {
  assert.equal(previousRun([]), undefined);
  assert.equal(previousRun([at(1, 0, runA), at(2, 50)]), undefined);
  assert.deepEqual(previousRun([at(1, 0, runA), at(2, 50), at(3, 60, runB), at(4, 90)]), {
    start: 0,
    end: 60,
  });
  const three = [at(1, 0, runA), at(3, 60, runB), at(5, 60, runC)];
  assert.deepEqual(previousRun(three), { start: 60, end: 60 });
  // A start that was noted twice.
  assert.deepEqual(previousRun([at(1, 0, runA), at(3, 60, runB), at(5, 70, runB)]), { start: 0, end: 60 });
  assert.equal(previousRun([at(3, 60, runB), at(5, 70, runB)]), undefined);
});

test("thinOut() drops samples of removed bytes, and keeps the start of the oldest run that has bytes left", () => {
  const samples = [at(1, 0, runA), at(2, 50), at(3, 60, runB), at(4, 90), at(5, 120), at(6, 130, runC)];
  assert.deepEqual(thinOut(samples, 100), [at(3, 60, runB), at(5, 120), at(6, 130, runC)]);
  assert.deepEqual(thinOut(samples, 0), samples);
  assert.deepEqual(thinOut(samples, 500), [at(3, 60, runB), at(6, 130, runC)]);
  assert.deepEqual(thinOut([at(2, 50)], 50), []);
});

test("thinOut() bounds samples and runs, and makes old times coarser first", () => {
  const many = Array.from({ length: 10_000 }, (_, i) => at(10 * i, 100 * i + 100));
  const left = thinOut(many, 0, 1000);
  assert.ok(left.length <= 1000 && left.length > 500, `${left.length} samples`);
  assert.deepEqual(left.slice(-500), many.slice(-500));
  const times = createLogTimes(left, [], now);
  for (let i = 0; i < 10_000; i++) assert.ok(times.timeAt(100 * i)! >= 10 * i, `sample ${i}`);
  const restarts = Array.from({ length: 5000 }, (_, i) => at(i, 0, `r-${String(i).padStart(10, "0")}`));
  const runs = thinOut(restarts, 0, 1000);
  assert.ok(runs.length <= 1000, `${runs.length} runs`);
  assert.deepEqual(runs.at(-1), restarts.at(-1));
  assert.deepEqual(runs.at(-2), restarts.at(-2));
});

interface Round {
  lines: { afterMs: number; bytes: number }[];
  idleMs: number;
  /** By how much the clock is wrong from now on; undefined: as before. */
  wrongByMs?: number;
}

/** An app that writes lines at any time, and an agent that samples at most 10 s after each; the clock may be set wrong. */
const world = (wrongByMs: fc.Arbitrary<number | undefined>) => {
  const line = fc.record({ afterMs: fc.nat(1999), bytes: fc.integer({ min: 1, max: 200 }) });
  const round = fc.record({
    lines: fc.array(line, { maxLength: 4 }),
    idleMs: mostly(0, 5, fc.nat(3_600_000)),
    wrongByMs,
  });
  return fc.array(round, { maxLength: 200, size: "max" });
};

function happen(rounds: Round[]) {
  const lines: { offset: number; time: number }[] = [];
  const samples: Sample[] = [];
  let [clock, step, offset, sampled] = [1_000_000, 0, 0, 0];
  for (const round of rounds) {
    for (const { afterMs, bytes } of round.lines) {
      clock += afterMs;
      lines.push({ offset, time: clock });
      offset += bytes;
    }
    clock += round.idleMs;
    step = round.wrongByMs ?? step;
    // As the agent does: by the time of the last write.
    const time = lines.at(-1)?.time ?? clock;
    if (offset > sampled) addSample(samples, at(Math.max(0, time + step), offset));
    sampled = offset;
  }
  return { lines, samples, clock, end: offset };
}

test("in random worlds, every line gets a time from its writing to 10 s later", () => {
  const property = fc.property(world(fc.constant(undefined)), (rounds) => {
    const { lines, samples, clock } = happen(rounds);
    const times = createLogTimes(parseSamples(encodeSamples(samples)), [], clock);
    for (const { offset, time } of lines) {
      const found = times.timeAt(offset)!;
      assert.ok(found >= time && found <= time + 10_000, `byte ${offset}: ${found} for ${time}`);
    }
  });
  fc.assert(property, runs(100));
});

test("in random worlds with a clock that is set wrong, times never decrease, and since agrees with the times shown", () => {
  const wrongByMs = mostly<number | undefined>(
    undefined,
    2,
    fc.constantFrom(0, -999_000, 7_200_000, -7_200_000),
  );
  const asked = fc.record({
    /** The removed part of the log. */
    removed: mostly(0, 50, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
    most: fc.constantFrom(128, 1000),
    /** How far from the time of each line to ask, in turn. */
    shifts: fc.array(fc.constantFrom(0, -1, 1), { minLength: 1 }),
  });
  const property = fc.property(world(wrongByMs), asked, (rounds, { removed, most, shifts }) => {
    const { lines, samples, clock, end } = happen(rounds);
    const start = Math.floor(removed * end);
    const left = thinOut(samples, start, most);
    const times = createLogTimes(left, [at(clock, end + 1)], clock);
    const shown = lines.filter(({ offset }) => offset >= start)
      .map(({ offset }) => ({ offset, time: times.timeAt(offset)! }));
    shown.forEach(({ time }, i) => {
      assert.ok(time <= clock, "from the future");
      assert.ok(i === 0 || time >= shown[i - 1]!.time, `line ${i} is before the one above`);
    });
    for (const since of [0, clock, ...shown.map(({ time }, i) => time + shifts[i % shifts.length]!)]) {
      const from = times.offsetAt(since);
      for (const { offset, time } of shown) {
        assert.equal(offset >= from, time >= since, `byte ${offset}, since ${since}`);
      }
    }
  });
  fc.assert(property, runs(100));
});
