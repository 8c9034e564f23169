/**
 * The file of a log's samples, `app.times`: one line for each check that finds the log longer, and for each start of a run.
 *
 * A sample gets the time of the last write to the log, as the file system has it. So a line that nothing follows for a while has the
 * right time, even if no agent ran. Lines are only appended, until there are too many or a rotation removed what they are about.
 *
 * Guarantees: a log that did not grow costs nothing but the check of its length; an agent that is killed loses one sample at most.
 */
import { constants, open } from "node:fs/promises";
import { dirname } from "node:path";
import { inLane } from "../../lib/deadlines/deadlines.ts";
import { errorCode, writeFileAtomic } from "../../lib/files.ts";
import { timesPath } from "./log-parts.ts";
import { openLogStream } from "./log-stream.ts";
import { addSample, encodeSamples, maxSamples, parseSamples, type Sample, thinOut } from "../log-times.ts";
import type { LogLength } from "./rotation.ts";

export interface NoteOptions {
  now?: () => number;
}

/** What is known of a log without reading its file. */
interface Known {
  /** The length of the stream at the last check, and its time. */
  end: number;
  checkedAt: number;
  lines: number;
  /** The file is from an earlier agent, which may have been killed in the middle of a line. */
  mayBeTorn: boolean;
  /** The start of the first run of a new log: written with the next sample, or by the next check. */
  unwritten: Sample[];
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;
/** Lines that may be appended before the file is written again. */
const spareLines = 512;
/** Twice what the agent writes; only the end of a longer file is read. */
const maxBytes = 64 * 2 * (maxSamples + spareLines);
const cutTimeoutMs = 2000;

const logs = new Map<string, { known?: Known; work: Promise<unknown> }>();

/** Notes how long a log is, if it has grown. */
export function noteLength(
  logPath: string,
  length: LogLength,
  { now = Date.now }: NoteOptions = {},
): Promise<void> {
  return inTurn(logPath, (known) => appendLength(logPath, known, length, now()));
}

/** Notes that a run starts: what is written from now on is its output. A log in a folder that `isNew` has no byte yet. */
export async function noteRun(
  logPath: string,
  run: string,
  { now = Date.now, signal, isNew = false }: NoteOptions & { signal?: AbortSignal; isNew?: boolean } = {},
): Promise<void> {
  if (isNew) {
    const time = now();
    const unwritten = [{ time, offset: 0, run }];
    const known = { end: 0, checkedAt: time, lines: 0, mayBeTorn: false, unwritten };
    logs.set(logPath, { known, work: Promise.resolve() });
    return;
  }
  await using log = await openLogStream(logPath, { cutTimeoutMs, signal });
  const bounds = await log?.bounds();
  if (!bounds) return;
  const { base, end, files } = bounds;
  await inTurn(logPath, async (known) => {
    const time = now();
    await appendLength(logPath, known, { base, size: end - base, mtimeMs: files.at(-1)!.time }, time);
    await append(logPath, known, [{ time, offset: end, run }]);
  });
}

/** Removes the samples of bytes that are gone; for a log that was rotated. */
export function dropOldSamples(logPath: string): Promise<void> {
  return inTurn(logPath, (known) => rewrite(logPath, known));
}

/** Forgets what is known about a removed log. */
export function forgetTimes(logPath: string): void {
  logs.delete(logPath);
}

/** Reads the samples of a log; none if there are none yet. */
export async function readSamples(logPath: string): Promise<Sample[]> {
  return await inLane(dirname(dirname(logPath)), async () => {
    try {
      await using file = await open(timesPath(logPath), O_RDONLY | O_NOFOLLOW);
      const { size } = await file.stat();
      const start = Math.max(0, size - maxBytes);
      const { buffer, bytesRead } = await file.read(new Uint8Array(size - start), { position: start });
      const written = parseSamples(new TextDecoder("latin1").decode(buffer.subarray(0, bytesRead)));
      return [...written, ...unwrittenOf(logPath)];
    } catch (error) {
      if (errorCode(error) === "ENOENT") return unwrittenOf(logPath);
      throw error;
    }
  }, { path: timesPath(logPath) });
}

const unwrittenOf = (logPath: string) => [...logs.get(logPath)?.known?.unwritten ?? []];

/** Runs one operation per log at a time: a line appended while the file is written again would be lost. */
function inTurn(logPath: string, work: (known: Known) => Promise<void>): Promise<void> {
  const log = logs.get(logPath) ?? { work: Promise.resolve() };
  logs.set(logPath, log);
  const result = log.work.then(async () => await work(log.known ??= await readKnown(logPath)));
  log.work = result.catch(() => {});
  return result;
}

async function readKnown(logPath: string): Promise<Known> {
  const samples = await readSamples(logPath);
  const { offset = 0, time = 0 } = samples.at(-1) ?? {};
  return { end: offset, checkedAt: time, lines: samples.length, mayBeTorn: true, unwritten: [] };
}

async function appendLength(
  logPath: string,
  known: Known,
  { base, size, mtimeMs }: LogLength,
  now: number,
): Promise<void> {
  const end = base + size;
  const before = known.end;
  if (end === before && known.unwritten.length > 0) await append(logPath, known, []);
  if (end !== before) {
    const written = Math.ceil(mtimeMs);
    // The clock of the file system may be another one, or was set since.
    const time = written >= known.checkedAt && written <= now ? written : now;
    // A log that is shorter than before was emptied: all its bytes are new.
    const emptied = end < before ? [{ time, offset: base }] : [];
    await append(logPath, known, [...emptied, { time, offset: end }]);
  }
  known.checkedAt = now;
}

async function append(logPath: string, known: Known, added: Sample[]): Promise<void> {
  const samples = [...known.unwritten, ...added];
  if (known.lines + samples.length > maxSamples + spareLines) return await rewrite(logPath, known, added);
  await inLane(dirname(dirname(logPath)), async () => {
    await using file = await open(timesPath(logPath), O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o640);
    await file.write(`${known.mayBeTorn ? "\n" : ""}${encodeSamples(samples)}`);
  }, { path: timesPath(logPath) });
  known.mayBeTorn = false;
  known.unwritten = [];
  known.lines += samples.length;
  known.end = samples.at(-1)!.offset;
}

async function rewrite(logPath: string, known: Known, added: Sample[] = []): Promise<void> {
  await using log = await openLogStream(logPath, { cutTimeoutMs });
  const bounds = await log?.bounds();
  if (!bounds) return;
  const samples = added.reduce(addSample, await readSamples(logPath));
  const left = thinOut(samples, bounds.start);
  await inLane(
    dirname(dirname(logPath)),
    () => writeFileAtomic(timesPath(logPath), encodeSamples(left), { mode: 0o640 }),
    { path: timesPath(logPath) },
  );
  known.mayBeTorn = false;
  known.unwritten = [];
  known.lines = left.length;
  known.end = samples.at(-1)?.offset ?? known.end;
}
