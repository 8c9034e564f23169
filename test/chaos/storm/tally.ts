/** Counts faults and checks, and keeps the violations. */

export interface Violation {
  invariant: string;
  round: number;
  what: string;
}

export interface Tally {
  /** Counts a check of this invariant; complaints mark it as broken. */
  checked(invariant: string, complaints: string[], round: number): void;
  tried(fault: string): void;
  readonly faults: Record<string, number>;
  readonly checks: Record<string, number>;
  readonly violations: Violation[];
}

/** Creates a tally with a line for each of these, tried or not. */
export function createTally(faults: string[], invariants: string[]): Tally {
  const zero = (names: string[]) => Object.fromEntries(names.map((name) => [name, 0]));
  const tally = { faults: zero(faults), checks: zero(invariants), violations: [] as Violation[] };
  return {
    ...tally,
    checked(invariant, complaints, round) {
      tally.checks[invariant] = (tally.checks[invariant] ?? 0) + 1;
      for (const what of complaints) {
        const isKnown = tally.violations.some((known) =>
          known.invariant === invariant && known.what === what
        );
        if (!isKnown) tally.violations.push({ invariant, round, what });
      }
    },
    tried(fault) {
      tally.faults[fault] = (tally.faults[fault] ?? 0) + 1;
    },
  };
}
