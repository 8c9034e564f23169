/**
 * How long suites and parts took in earlier runs, in a small file in the cache. It only serves to say what to expect: a file that is
 * missing, broken or not writable is no error.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheDir } from "../../test/harness/parts.ts";

/** The figures of the last time. */
export interface Figures {
  ms: number;
  tests?: number;
}

/** The figures by the title of a step. */
export interface History {
  get(title: string): Figures | undefined;
  /** Writes the file at once: a run may be interrupted. */
  set(title: string, figures: Figures): void;
}

/** Opens the history of this user. */
export function openHistory(file = join(cacheDir(), "test-history.json")): History {
  const known = read(file);
  return {
    get: (title) => known.get(title),
    set(title, figures) {
      known.set(title, { ...figures, ms: Math.round(figures.ms) });
      try {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, `${JSON.stringify(Object.fromEntries(known), null, 1)}\n`);
      } catch {
        // The next run expects nothing.
      }
    },
  };
}

function read(file: string): Map<string, Figures> {
  try {
    const entries = Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>);
    return new Map(entries.filter((entry): entry is [string, Figures] => isFigures(entry[1])));
  } catch {
    return new Map();
  }
}

function isFigures(value: unknown): value is Figures {
  const { ms, tests } = (value ?? {}) as Partial<Record<keyof Figures, unknown>>;
  return typeof ms === "number" && (tests === undefined || typeof tests === "number");
}
