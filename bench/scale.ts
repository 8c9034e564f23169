/** Maps values to coordinates, and chooses the ticks of an axis. Pure. */

export interface Scale {
  least: number;
  most: number;
  logarithmic: boolean;
  place(value: number): number;
}

/** Returns a scale over these values; a linear one starts at zero, so that heights can be compared. */
export function scaleFor(values: number[], [from, to]: [number, number], logarithmic = false): Scale {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(lowest) || !Number.isFinite(highest)) throw new Error("no scale without values");
  if (logarithmic && lowest <= 0) throw new Error(`no logarithmic scale for ${lowest}`);
  const least = logarithmic ? 10 ** Math.floor(Math.log10(lowest)) : Math.min(0, lowest);
  const most = logarithmic ? 10 ** Math.ceil(Math.log10(highest)) : roundUp(highest);
  const measure = (value: number) => logarithmic ? Math.log10(value) : value;
  const span = measure(most) - measure(least) || 1;
  const place = (value: number) => from + (measure(value) - measure(least)) / span * (to - from);
  return { least, most, logarithmic, place };
}

/** Returns the ticks: powers of ten, or about five round steps. */
export function axisTicks({ least, most, logarithmic }: Scale): number[] {
  if (logarithmic) {
    const powers = Math.round(Math.log10(most / least));
    return Array.from({ length: powers + 1 }, (_, at) => least * 10 ** at);
  }
  const step = roundUp((most - least) / 5);
  return Array.from({ length: Math.floor((most - least) / step + 1e-9) + 1 }, (_, at) => least + at * step);
}

/** Rounds up to 1, 2, 2.5, 5 or 10 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 2.5, 5, 10].find((step) => step * power >= value * (1 - 1e-9)) ?? 10);
}
