/** Whether a figure grows with time. Pure. */
import { median } from "../statistics.ts";

/** A reading: seconds since the start, and the figure. */
export type Point = [seconds: number, value: number];

export interface Trend {
  /** In the middle of the second half. */
  median: number;
  /** What the figure would grow by in an hour, if it went on as in the second half. */
  perHour: number;
  /** What it grew by in the second half. */
  growth: number;
  /** The most of it that is not growth but the noise of a figure that goes up and down. */
  tolerance: number;
  flat: boolean;
}

export interface TrendOptions {
  /** So much of the median may be noise. */
  share?: number;
  /** So much may always be: a page, a connection that comes and goes. */
  floor?: number;
}

/**
 * Looks at the second half of the readings: the first is for caches and pools to fill. Flat means that it does not grow by more
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

/** The median of the slopes between all pairs of points (Theil-Sen): a third of them may be wild without a difference. */
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
