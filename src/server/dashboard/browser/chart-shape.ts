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

/**
 * Returns a value above all others and a little above the cap, so that its line is visible. Without a cap it is at least
 * `minTop`, so that noise stays small.
 */
function topOf(values: (number | null)[], cap: number | undefined, minTop: number): number {
  const base = cap === undefined ? minTop : cap * 1.15;
  return values.reduce((top: number, value) => Math.max(top, (value ?? 0) * 1.02), base);
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
