/** A test that ended, as both runtimes report it. */
export interface EndedTest {
  /** Its name, after those of the tests around it. */
  name: string;
  /** The path of its file, from the checkout. */
  file: string;
  result: "passed" | "failed" | "skipped";
  /** Why it was skipped; Deno does not say. */
  reason?: string;
  /** How long it took without its subtests, so that no time is counted twice. */
  ownMs: number;
  /** Whether totals count it: a `describe` of Node is no test, unless all of it was skipped. */
  counts: boolean;
}

/** Joins the names of tests inside each other. */
export function joinNames(names: string[]): string {
  return names.join(" > ");
}

/**
 * Returns a function that takes the time of each test when it ends, and returns that without its subtests. Tests are known by any
 * unique text. Subtests that run side by side can take longer than their parent, to which nothing is left then.
 */
export function countOwnTime(): (id: string, parent: string, ms: number) => number {
  const inSubtests = new Map<string, number>();
  return (id, parent, ms) => {
    inSubtests.set(parent, (inSubtests.get(parent) ?? 0) + ms);
    const inside = inSubtests.get(id) ?? 0;
    inSubtests.delete(id);
    return Math.max(0, ms - inside);
  };
}
