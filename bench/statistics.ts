/** Statistics over many measurements. Pure. */

/** Returns a percentile by nearest rank: `percentile(times, 0.99)`. */
export function percentile(values: number[], share: number): number {
  if (values.length === 0) throw new Error("no values to take a percentile of");
  const sorted = [...values].sort((one, other) => one - other);
  const rank = Math.ceil(sorted.length * share) - 1;
  return sorted[Math.min(sorted.length - 1, Math.max(0, rank))]!;
}

/** Returns the median. */
export function median(values: number[]): number {
  return percentile(values, 0.5);
}

/** Returns the mean. */
export function mean(values: number[]): number {
  if (values.length === 0) throw new Error("no values to take a mean of");
  return values.reduce((total, value) => total + value, 0) / values.length;
}

/** Returns the growth of y per x, by least squares. */
export function slope(points: [number, number][]): number {
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((total, [x]) => total + (x - meanX) ** 2, 0);
  if (spread === 0) throw new Error("no slope through points that have one x");
  return points.reduce((total, [x, y]) => total + (x - meanX) * (y - meanY), 0) / spread;
}

/** Returns the growth factor of the cost per unit of work from the first point to the last: above 1, cost grows faster than work. */
export function growthPerUnit(points: [number, number][]): number {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) throw new Error("no growth without points");
  return (last[1] / last[0]) / (first[1] / first[0]);
}

/** Returns the cumulative distribution of the values, as a line to draw. */
export function distribution(values: number[]): [number, number][] {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted.map((value, at) => [value, (at + 1) / sorted.length]);
}
