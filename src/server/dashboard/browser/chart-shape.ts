/** Converts measurements to the shapes of a chart, in a box of `width` by `height`. Pure. */
import { shown } from "./timeline.ts";

export const width = 180;
export const height = 48;

export interface Shape {
  /** The upper end of the scale, in the unit of the values. */
  top: number;
  line: string;
  area: string;
  /** The position of the cap; undefined without one. */
  capY?: number;
}

/** Returns the shapes of one series, with the newest value at the right edge and gaps where nothing was measured. */
export function shapeOf(values: (number | null)[], cap: number | undefined, minTop = 10): Shape {
  const top = topOf(values, cap, minTop);
  const x = (index: number) => round(width * (shown - values.length + index + 0.5) / shown);
  const y = (value: number) => round(height - height * Math.min(value, top) / top);
  const runs = runsOf(values);
  const points = (run: number[]) => run.map((index) => `${x(index)} ${y(values[index]!)}`).join("L");
  return {
    top,
    line: runs.map((run) => `M${points(run)}${run.length === 1 ? "h1" : ""}`).join(""),
    area: runs.map((run) => `M${x(run[0]!)} ${height}L${points(run)}L${x(run.at(-1)!)} ${height}Z`).join(""),
    ...(cap === undefined ? {} : { capY: y(cap) }),
  };
}

/** Returns the position of a sample, where `last` is the newest. */
export function xOf(sample: number, last: number): number {
  return round(width * (shown - (last - sample) - 0.5) / shown);
}

/** Returns the index of the sample at a share of the width, of `count` samples that end at the right; undefined left of them. */
export function sampleAt(share: number, count: number): number | undefined {
  const index = Math.floor(Math.min(0.999, Math.max(0, share)) * shown) - (shown - count);
  return index < 0 ? undefined : index;
}

/**
 * Returns a round number above all values and a little above the cap, so that its line is visible. Without a cap it is at least
 * `minTop`, so that noise stays small.
 */
function topOf(values: (number | null)[], cap: number | undefined, minTop: number): number {
  const base = cap === undefined ? minTop : cap * 1.15;
  return roundUp(values.reduce((top: number, value) => Math.max(top, value ?? 0), base));
}

/** Returns the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((step) => step * power >= value * 0.9999) ?? 10;
  return Number((step * power).toPrecision(2));
}

function runsOf(values: (number | null)[]): number[][] {
  const runs: number[][] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    if (index > 0 && values[index - 1] !== null) runs.at(-1)?.push(index);
    else runs.push([index]);
  });
  return runs;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
