/**
 * The lines of a history file. Pure.
 *
 * A line is JSON and begins with its newline: what a full disk or a power cut has torn ends where the next line begins, and only the
 * torn one is lost. Samples of usage, most of all lines, are short: `{"t":SECONDS,"u":[CPU,MEMORY,THROTTLED]}`.
 */
import { Buffer } from "node:buffer";
import type { HistoryEntry } from "../../server/view.ts";

/** After this time an entry is dropped. */
export const keptMs = 7 * 86_400_000;
/** Of older samples, one an hour is kept. */
const fineMs = 86_400_000;
const hourMs = 3_600_000;
const maxMessageLength = 1024;

export function encodeEntries(entries: HistoryEntry[]): string {
  return entries.map((entry) => `\n${encode(entry)}`).join("");
}

function encode({ usage, ...event }: HistoryEntry): string {
  if (!usage) return JSON.stringify(event);
  const { cpuPCT, memPCT, throttledPCT } = usage;
  const figures = [cpuPCT, memPCT, throttledPCT].map((share) => share === undefined ? null : round(share));
  return JSON.stringify({ t: Math.floor(event.time / 1000), u: figures });
}

/** Returns the entries of a file, without lines that are torn or unknown. */
export function decodeEntries(text: string): HistoryEntry[] {
  return text.split("\n").map(decode).filter((entry) => entry !== undefined);
}

function decode(line: string): HistoryEntry | undefined {
  try {
    const found = JSON.parse(line || "null");
    if (typeof found?.t === "number" && Array.isArray(found.u)) {
      const [cpuPCT, memPCT, throttledPCT] = found.u.map((share: unknown) => share ?? undefined);
      return { time: found.t * 1000, usage: { cpuPCT, memPCT, throttledPCT } };
    }
    return typeof found?.time === "number" && typeof found.reason === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Bounds what one entry can take. */
export function shorten(entry: HistoryEntry): HistoryEntry {
  const { message, exit } = entry;
  return {
    ...entry,
    ...(message === undefined ? {} : { message: message.slice(0, maxMessageLength) }),
    // The last lines of the log come last.
    ...(exit ? { exit: { ...exit, message: exit.message?.slice(-maxMessageLength) } } : {}),
  };
}

/**
 * Returns what is kept of a file that is too long: nothing of more than seven days ago, equal events of one hour as one with their
 * count, one sample an hour after the first day, and of that the newest that fit.
 */
export function compact(entries: HistoryEntry[], now: number, maxBytes: number): HistoryEntry[] {
  const recent = entries.filter(({ time }) => now - time < keptMs);
  const kept = thinSamples(mergeEqual(recent, hourMs), now);
  let bytes = 0;
  const firstTooMany = kept.findLastIndex((entry) => {
    bytes += Buffer.byteLength(encodeEntries([entry]));
    return bytes > maxBytes;
  });
  return kept.slice(firstTooMany + 1);
}

/** Combines each event with an equal one that began at most `withinMs` before. Different process IDs do not count. */
export function mergeEqual(entries: HistoryEntry[], withinMs = Infinity): HistoryEntry[] {
  const merged = new Set<HistoryEntry>();
  const last = new Map<string, HistoryEntry>();
  for (const entry of entries) {
    const key = entry.usage ? undefined : gist(entry);
    const same = key === undefined ? undefined : last.get(key);
    const since = same && (same.since ?? same.time);
    const isSame = same && since !== undefined && entry.time - since < withinMs;
    const next = isSame ? { ...entry, count: (same.count ?? 1) + (entry.count ?? 1), since } : entry;
    if (isSame) merged.delete(same);
    merged.add(next);
    if (key !== undefined) last.set(key, next);
  }
  return [...merged];
}

function gist({ type, reason, message = "" }: HistoryEntry): string {
  return JSON.stringify([type, reason, message.replaceAll(/\bprocess \d+/g, "process")]);
}

function thinSamples(entries: HistoryEntry[], now: number): HistoryEntry[] {
  const hours = new Set<number>();
  return entries.filter(({ time, usage }) => {
    if (!usage || now - time < fineMs) return true;
    const hour = Math.floor(time / hourMs);
    return !hours.has(hour) && hours.add(hour);
  });
}

function round(share: number): number {
  return Math.round(share * 10) / 10;
}
