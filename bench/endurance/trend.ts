/** Decides whether a figure grows with time. Pure. */
import { median } from "../statistics.ts";

/** A reading: seconds since the start, and the figure. */
export type Point = [seconds: number, value: number];

export interface Trend {
  /** The median of the second half. */
  median: number;
  /** Growth per hour, extrapolated from the second half. */
  perHour: number;
  /** Growth in the second half. */
  growth: number;
  /** The maximum growth that counts as noise. */
  tolerance: number;
  flat: boolean;
}

export interface TrendOptions {
  /** Tolerated noise as a share of the median. */
  share?: number;
  /** Tolerated noise in any case: a page, a connection that opens and closes. */
  floor?: number;
}

/**
 * Judges the second half of the readings: in the first, caches and pools fill. Flat means that the figure does not grow by more
 * than the tolerance; a figure that falls is flat.
 */
export function judgeTrend(points: Point[], { share = 0.05, floor = 0 }: TrendOptions = {}): Trend {
  const half = secondHalf(points);
  const middle = median(half.map(([, value]) => value));
  const slope = robustSlope(half);
  const span = half.at(-1)![0] - half[0]![0];
  const growth = slope * span;
  const tolerance = Math.max(floor, Math.abs(middle) * share);
  return { median: middle, perHour: slope * 3600, growth, tolerance, flat: growth <= tolerance };
}

/** Returns the median of the slopes between all pairs of points (Theil-Sen): up to a third of them may be outliers. */
export function robustSlope(points: Point[]): number {
  const slopes: number[] = [];
  for (const [at, [x, y]] of points.entries()) {
    for (const [otherX, otherY] of points.slice(at + 1)) {
      if (otherX !== x) slopes.push((otherY - y) / (otherX - x));
    }
  }
  if (slopes.length === 0) throw new Error("no slope without two points at different times");
  return median(slopes);
}

function secondHalf(points: Point[]): Point[] {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || points.length < 4) {
    throw new Error(`${points.length} readings are too few to see a trend`);
  }
  const middle = (first[0] + last[0]) / 2;
  return points.filter(([at]) => at >= middle);
}
