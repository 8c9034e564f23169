/**
 * When the bytes of a log were written: samples of how long its stream was, and when. Apps write to their logs directly, so nobody
 * sees a line at the moment it is written. Pure.
 *
 * A sample says: at this time, all bytes before this offset were there. So the time of a byte is that of the first sample behind it.
 *
 * Guarantees:
 * - Times never decrease from one byte to the next.
 * - A line never gets a time before it was written, so a reader who asks for the lines since a time misses none. With a sample at least
 *   every 10 s, no time is more than 10 s late.
 * - Dropping samples makes times later, never earlier.
 * - A clock that was wrong for a while does no lasting harm: only the largest set of samples whose times agree with their order counts,
 *   and none from the future.
 * - Text of any kind parses: what is not a sample is skipped.
 *
 * Caveat: a script can empty its log (see logs/rotation.ts) and write more than before until the next sample. Then its new lines get times
 * of the old ones.
 */
import { isRunId } from "./run-ref.ts";

export interface Sample {
  /** Milliseconds since 1970. */
  time: number;
  /** A position in the stream, see logs/log-stream.ts. */
  offset: number;
  /** The run that starts here. */
  run?: string;
}

export interface LogTimes {
  /** Returns when the byte at this offset was written, undefined for one behind all samples. */
  timeAt(offset: number): number | undefined;
  /** Returns the first offset whose byte was written at this time or later; the end of the samples if there is none. */
  offsetAt(time: number): number;
  /** The last sample that counts. */
  last: Sample;
}

/** More are thinned out: 4096 samples are 11 hours of an app that always writes, in 100 KB. */
export const maxSamples = 4096;
/** How many starts of runs are kept. */
const maxRuns = 32;

/** Parses one sample per line, in the order in which they were taken. */
export function parseSamples(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, time, offset, run] = /^(\d{1,15}) (\d{1,16})(?: ([0-9a-z-]{1,64}))?$/.exec(line) ?? [];
    const sample = { time: Number(time), offset: Number(offset), ...(run === undefined ? {} : { run }) };
    return Number.isSafeInteger(sample.offset) && (run === undefined || isRunId(run)) ? [sample] : [];
  }).reduce(addSample, []);
}

export function encodeSamples(samples: readonly Sample[]): string {
  return samples.map(({ time, offset, run }) => `${[time, offset, ...(run ? [run] : [])].join(" ")}\n`).join(
    "",
  );
}

/** Adds a sample to a list, and returns the list. If the log is shorter than before, the bytes of earlier samples are gone. */
export function addSample(samples: Sample[], sample: Sample): Sample[] {
  const runs: Sample[] = [];
  while (samples.length > 0 && samples.at(-1)!.offset > sample.offset) {
    const gone = samples.pop()!;
    if (gone.run) runs.unshift({ ...gone, offset: sample.offset });
  }
  samples.push(...runs, sample);
  return samples;
}

/**
 * Returns the samples that still say something about a log that starts at `start`. Of more than `most`, every second one of the older
 * half goes: the older a line, the coarser its time.
 */
export function thinOut(samples: readonly Sample[], start: number, most: number = maxSamples): Sample[] {
  const runs = samples.filter(({ run }) => run);
  // A run has bytes left if the next one starts behind the start of the log. The last two are asked for even if they have none.
  const kept = new Set(
    runs.filter((_, i) => i >= runs.length - 2 || runs[i + 1]!.offset > start).slice(-maxRuns),
  );
  let left = samples.filter((sample) => kept.has(sample) || sample.offset > start)
    .map((sample) => kept.has(sample) ? sample : { time: sample.time, offset: sample.offset });
  while (left.length > Math.max(most, 4 * maxRuns)) {
    const half = left.length / 2;
    left = left.filter((sample, i) => sample.run || i >= half || i % 2 === 1);
  }
  return left;
}

/**
 * Combines samples with the times of the log's files: a part that ends at an offset was complete when it was last changed. The files
 * help where there are no samples: before the first and behind the last one.
 */
export function createLogTimes(samples: readonly Sample[], files: readonly Sample[], now: number): LogTimes {
  const known = longestOrdered(samples.filter(({ time }) => time <= now));
  const [first, last] = [known[0] ?? { time: now, offset: -Infinity }, known.at(-1) ?? never];
  const before = files.filter(({ time, offset }) => offset < first.offset && time <= first.time);
  const behind = files.filter(({ offset }) => offset > last.offset)
    .map(({ time, offset }) => ({ time: Math.min(now, Math.max(time, last.time)), offset }));
  const all = longestOrdered([...before, ...known, ...behind]);
  return {
    timeAt: (offset) => all[countWhere(all, (sample) => sample.offset <= offset)]?.time,
    offsetAt: (time) => all[countWhere(all, (sample) => sample.time < time) - 1]?.offset ?? -Infinity,
    last: all.at(-1) ?? never,
  };
}

/** Returns where the run before the last one wrote; undefined if there was none. */
export function previousRun(samples: readonly Sample[]): { start: number; end: number } | undefined {
  const runs = samples.filter(({ run }) => run);
  const last = runs.findIndex(({ run }) => run === runs.at(-1)?.run);
  const [previous, current] = [runs[last - 1], runs[last]];
  if (!previous || !current) return undefined;
  const start = runs.find(({ run }) => run === previous.run)!.offset;
  return { start, end: current.offset };
}

const never: Sample = { time: -Infinity, offset: -Infinity };

/** Returns the longest part of a list in which no time decreases: the others come from a clock that was wrong. */
function longestOrdered(samples: readonly Sample[]): Sample[] {
  // ends[n] is the index of the sample with the lowest time that ends an ordered list of n + 1 samples.
  const ends: number[] = [];
  const previous: (number | undefined)[] = [];
  samples.forEach(({ time }, i) => {
    const length = countWhere(ends, (end) => samples[end]!.time <= time);
    previous[i] = ends[length - 1];
    ends[length] = i;
  });
  const ordered: Sample[] = [];
  for (let i = ends.at(-1); i !== undefined; i = previous[i]) ordered.push(samples[i]!);
  return ordered.reverse();
}

/** Counts the items at the start of a list for which a condition holds; it holds for none after them. */
function countWhere<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
