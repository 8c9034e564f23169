/** How many tests passed, failed and were skipped. */
export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** Formats the last line of a run. */
export function formatTotals({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Adds up the totals of several runs. */
export function sumTotals(all: Totals[]): Totals {
  const sum = (name: keyof Totals) => all.reduce((total, one) => total + one[name], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/** Parses such a line; undefined if it is another. */
export function parseTotals(line: string): Totals | undefined {
  const match = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(line);
  return match
    ? { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3]) }
    : undefined;
}

/** Parses the last line of `deno test`. A step is a subtest in node:test, and counts as a test. */
export function parseDenoTotals(line: string): Totals | undefined {
  const match =
    /^(?:ok|FAILED) \| (\d+) passed(?: \((\d+) steps?\))? \| (\d+) failed(?: \((\d+) steps?\))?(?: \| (\d+) ignored(?: \((\d+) steps?\))?)?/
      .exec(line);
  if (!match) return undefined;
  const count = (at: number) => Number(match[at] ?? 0) + Number(match[at + 1] ?? 0);
  return { passed: count(1), failed: count(3), skipped: count(5) };
}
