/** Reads and writes the results: one JSON file, in which a benchmark that runs again replaces only its own part. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "../src/lib/files.ts";
import type { Figure } from "./benchmark.ts";
import type { Chart } from "./chart.ts";
import type { Machine } from "./machine.ts";

export interface Results {
  machine: Machine;
  /** By the name of the benchmark. */
  outcomes: Record<string, Outcome>;
}

/** How one benchmark went. */
export interface Outcome {
  about: string;
  /** When it started, and how long it took. */
  at: string;
  seconds: number;
  /** The share of the machine that other work used right before: on a busy machine, times mean little. */
  othersPCT: number;
  long: boolean;
  figures: Figure[];
  charts: Chart[];
  /** Why there are no figures. */
  trouble?: string;
}

/** Returns the results so far, none if there is no file yet. */
export async function readResults(file: string): Promise<Results | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined;
    throw new Error(`cannot read the results in ${file}: ${(cause as Error).message}`, { cause });
  }
}

/** Writes all results. */
export async function writeResults(file: string, results: Results): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(results, null, 1) + "\n");
}

/** Returns these results with one more outcome; results of another machine are dropped, since they are not comparable. */
export function addOutcome(
  before: Results | undefined,
  machine: Machine,
  name: string,
  outcome: Outcome,
): Results {
  const isSame = before && JSON.stringify(before.machine) === JSON.stringify(machine);
  return { machine, outcomes: { ...(isSame ? before.outcomes : {}), [name]: outcome } };
}
