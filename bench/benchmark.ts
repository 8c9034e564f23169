/** The shape of a benchmark and of its results. */
import type { Part } from "../test/harness/parts.ts";
import type { Chart } from "./chart.ts";

/** One subject in one file: a few figures, measured together so that their ratios hold on any machine. */
export interface Benchmark {
  /** Its name on the command line, and the name of its file. */
  name: string;
  /** What it measures and how, in a sentence or two. */
  about: string;
  /** Requirements; if one is missing, the benchmark is skipped with a reason. */
  needs: Need[];
  run(context: Context): Promise<Figure[]>;
}

/** `executable`: the built program, rebuilt if the source is newer. `root`: must run as root. */
export type Need = "executable" | "root" | Part;

/** The input of a benchmark. */
export interface Context {
  /** Path of the built program. */
  executable: string;
  /** Whether to run the full measurement, however long it takes. */
  long: boolean;
  /** Prints the progress. */
  say(text: string): void;
  /** Adds a chart of how cost grows with work. */
  chart(chart: Chart): void;
}

/** A row of the table. */
export interface Figure {
  figure: string;
  /** The measured value; missing if it could not be measured, which `note` explains. */
  ours?: number;
  unit: string;
  /** An alternative to nckubelet, measured in the same run unless its note says otherwise. */
  peer?: Reference;
  /** What the machine allows at best, measured in the same run. */
  limit?: Reference;
  /** The target: a minimum with `better: "higher"`, else a maximum. */
  asked?: number;
  /** Which direction is good; default lower. */
  better?: "lower" | "higher";
  note?: string;
}

/** A value to compare with ours, in the same unit. */
export interface Reference {
  what: string;
  value: number;
}

/** Returns how many times better ours is than the peer's: below 1 the peer is ahead. */
export function ratioOf({ ours, peer, better = "lower" }: Figure): number | undefined {
  if (ours === undefined || peer === undefined) return undefined;
  const ratio = better === "lower" ? peer.value / ours : ours / peer.value;
  return Number.isFinite(ratio) ? ratio : undefined;
}

/** Reports whether the target is met; undefined without a target or a measurement. */
export function isReached({ ours, asked, better = "lower" }: Figure): boolean | undefined {
  if (ours === undefined || asked === undefined) return undefined;
  return better === "lower" ? ours < asked : ours > asked;
}
