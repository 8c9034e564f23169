/**
 * When the bytes of a part were written: the samples that its launcher appended to the index, at most one a second.
 *
 * Guarantees: a time is never after the bytes were written, and at most a second before. What a crash or a full disk has cut is
 * left out. A search reads a few samples, not the whole index.
 * Caveat: what was written while the clock was wrong has a wrong time.
 */
import { constants, type FileHandle, open } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import type { Part } from "./log-parts.ts";

export interface Sample {
  /** Milliseconds since 1970. */
  time: number;
  /** Everything from here to the next sample was written at that time, or in the second after it. */
  position: number;
  /** A run starts here. */
  isStart: boolean;
}

/** Returns when the last of a sample's bytes can have been written. A new run starts after the end of the one before it. */
export function lastTimeOf({ time }: Sample, next?: Sample): number {
  const end = next === undefined ? Infinity : next.isStart ? next.time - 1 : next.time;
  // The clock may have been set back since.
  return Math.max(time, Math.min(time + 999, end));
}

const sampleBytes = 16;
const blockSamples = 4096;

/** Returns the last sample at or before `from`, if there is one, and all behind it that are before `to`. */
export async function samplesIn(part: Part, from: number, to: number): Promise<Sample[]> {
  await using index = await openIndex(part);
  if (!index) return [];
  const found: Sample[] = [];
  for (let number = await lastBefore(index, from); number < index.count; number += blockSamples) {
    const block = await index.read(number, blockSamples);
    found.push(...block.filter(({ position }) => position < to));
    if ((block.at(-1)?.position ?? to) >= to) break;
  }
  return found;
}

/** Returns the first sample of a part; undefined if it has none. */
export async function firstSample(part: Part): Promise<Sample | undefined> {
  await using index = await openIndex(part);
  return (await index?.read(0, 1))?.[0];
}

/** Yields the samples of a part in blocks, the newest first. */
export async function* samplesBackward(part: Part): AsyncGenerator<Sample[]> {
  await using index = await openIndex(part);
  for (let end = index?.count ?? 0; end > 0; end -= blockSamples) {
    const first = Math.max(0, end - blockSamples);
    yield (await index!.read(first, end - first)).reverse();
  }
}

interface Index extends AsyncDisposable {
  count: number;
  read(first: number, count: number): Promise<Sample[]>;
}

/** Undefined for a part whose index is gone. */
async function openIndex({ indexPath }: Part): Promise<Index | undefined> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  let file: FileHandle;
  try {
    file = await open(indexPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  return {
    count: Math.floor((await file.stat()).size / sampleBytes),
    async read(first, count) {
      const { buffer, bytesRead } = await file.read(new Uint8Array(count * sampleBytes), {
        position: first * sampleBytes,
      });
      return decodeSamples(buffer.subarray(0, bytesRead));
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** Returns the number of the last sample at or before a position; 0 if there is none. Positions never decrease. */
async function lastBefore(index: Index, position: number): Promise<number> {
  let [low, high] = [0, index.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    const [sample] = await index.read(middle, 1);
    if (sample && sample.position <= position) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Two numbers of 64 bits each, little-endian; the highest bit of the time says that a run starts. */
export function decodeSamples(bytes: Uint8Array): Sample[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / sampleBytes) }, (_, number) => {
    const [time, position] = [0, 8].map((at) => view.getBigUint64(number * sampleBytes + at, true));
    return {
      time: Number(time! & ~runStarts),
      position: Number(position),
      isStart: (time! & runStarts) !== 0n,
    };
  });
}

const runStarts = 1n << 63n;
