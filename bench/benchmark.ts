/** What a benchmark is, and what it gives. */
import type { Part } from "../test/harness/parts.ts";
import type { Chart } from "./chart.ts";

/** One subject, in one file: a few figures that are measured together, so that their ratios hold on any machine. */
export interface Benchmark {
  /** The word on the command line, and the name of its file. */
  name: string;
  /** What it measures and how, in a sentence or two. */
  about: string;
  /** Without these it is not run, and says so. */
  needs: Need[];
  run(context: Context): Promise<Figure[]>;
}

/** `executable`: the built program, made anew where the source is newer. `root`: to be run by root. */
export type Need = "executable" | "root" | Part;

/** What a benchmark is given. */
export interface Context {
  /** Path of the built program. */
  executable: string;
  /** Whether to take the time that the full measurement needs. */
  long: boolean;
  /** Tells people what it is at. */
  say(text: string): void;
  /** Adds a picture of how cost grows with work. */
  chart(chart: Chart): void;
}

/** A row of the table. */
export interface Figure {
  figure: string;
  /** What was measured here; missing where it could not be had, which `note` explains. */
  ours?: number;
  unit: string;
  /** What a user would pick instead, measured in the same run unless its note says otherwise. */
  peer?: Reference;
  /** What the machine allows at best, measured in the same run. */
  limit?: Reference;
  /** The bound that was asked for; with `better: "higher"` it is the least, else the most. */
  asked?: number;
  /** Which direction is good; default lower. */
  better?: "lower" | "higher";
  note?: string;
}

/** A value to stand beside ours, in the same unit. */
export interface Reference {
  what: string;
  value: number;
}

/** How many times better ours is than the peer's: below 1 the peer is ahead. */
export function ratioOf({ ours, peer, better = "lower" }: Figure): number | undefined {
  if (ours === undefined || peer === undefined) return undefined;
  const ratio = better === "lower" ? peer.value / ours : ours / peer.value;
  return Number.isFinite(ratio) ? ratio : undefined;
}

/** Whether what was asked for is reached; undefined where nothing was asked or nothing measured. */
export function isReached({ ours, asked, better = "lower" }: Figure): boolean | undefined {
  if (ours === undefined || asked === undefined) return undefined;
  return better === "lower" ? ours < asked : ours > asked;
}
