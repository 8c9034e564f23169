/** Formats the summary of a storm. Pure. */
import type { Violation } from "./tally.ts";

export interface Summary {
  seed: number;
  minutes: number;
  rounds: number;
  /** Apps that were created, and runs that started, according to the witness. */
  apps: number;
  runs: number;
  /** The longest time until the cluster settled. */
  slowestRestMs: number;
  /** Requests that were answered 429. */
  refused: number;
  /** Faults that cannot run here, and why. */
  skipped: string[];
  faults: Record<string, number>;
  checks: Record<string, number>;
  violations: Violation[];
}

/** The summary as lines of text. */
export function describe(summary: Summary): string[] {
  const { seed, minutes, rounds, apps, runs, slowestRestMs, refused, skipped, faults, checks, violations } =
    summary;
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
  return [
    "",
    `seed ${seed}, ${minutes.toFixed(1)} minutes, ${rounds} rounds: ${apps} apps with ${runs} runs, ` +
    `at rest within ${(slowestRestMs / 1000).toFixed(1)} s, ${refused} requests answered 429`,
    "",
    `faults: ${sum(faults)}`,
    ...rows(faults),
    ...skipped.map((why) => `  skipped: ${why}`),
    "",
    `checks: ${sum(checks)}, broken: ${violations.length}`,
    ...rows(checks),
    ...violations.map(({ invariant, round, what }) => `BROKEN in round ${round}: ${invariant}: ${what}`),
  ];
}

/** Formats the details of a failure, which follow the summary. */
export function describeFailure(seed: number, folder: string, last: string[]): string[] {
  return [
    "",
    `the last events (seed ${seed}):`,
    ...last,
    "",
    `seed ${seed}; logs, states and events are kept in ${folder}`,
  ];
}

function rows(counts: Record<string, number>): string[] {
  const width = Math.max(...Object.keys(counts).map(({ length }) => length));
  return Object.entries(counts).map(([name, count]) =>
    `  ${name.padEnd(width)}  ${String(count).padStart(5)}`
  );
}
