/** Reads the output of test runs, line by line. */
import { parseDenoTotals, parseTotals, type Totals } from "./totals.ts";

/** The meaning of a line: shown at once, the totals so far, or a skipped test. */
export interface Reading {
  shown: boolean;
  totals?: Totals;
  skipped?: string;
}

/** Reads the lines of this project's reporter for Node. */
export function createNodeReader(): (line: string) => Reading {
  return (line) => {
    const totals = parseTotals(line);
    return { shown: !totals, totals, skipped: /^ {2}skip {2}(.*)$/.exec(line)?.[1] };
  };
}

/**
 * Reads the lines of `deno test`. It prints a line for each test; only failures are shown, which come at the end. On SIGINT it
 * names the tests that are still open instead of totals, so that the totals are counted here.
 */
export function createDenoReader(): (line: string) => Reading {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const counters = { ok: "passed", FAILED: "failed", ignored: "skipped" } as const;
  let shown = false;
  return (line) => {
    const [, name, result] = /^(?:\S+ => )?(.*) \.\.\. (ok|FAILED|ignored)(?: \(.*\))?$/.exec(line) ?? [];
    if (result && !shown) counts[counters[result as keyof typeof counters]]++;
    const interrupted = line.startsWith("SIGINT ");
    shown ||= interrupted || /^(?: ERRORS |error:)/.test(line);
    const totals = interrupted ? { ...counts, failed: counts.failed + 1 } : parseDenoTotals(line);
    return {
      shown: interrupted || (shown && !totals),
      totals,
      skipped: result === "ignored" ? name : undefined,
    };
  };
}
