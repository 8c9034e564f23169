/** Reads the output of test runs, line by line. */
import { countOwnTime, type EndedTest, joinNames } from "./ended-test.ts";
import { endedMark } from "./reporter.ts";
import { parseDenoTotals, parseTotals, type Totals } from "./totals.ts";

/** The meaning of a line. */
export interface Reading {
  /** "always": what nobody may miss. "watched": for one who watches. "broken": only if the suite breaks. */
  shown: "always" | "watched" | "broken" | "never";
  /** The totals so far. */
  totals?: Totals;
  ended?: EndedTest;
}

/** Reads the lines of this project's reporter for Node. */
export function createNodeReader(): (line: string) => Reading {
  return (line) => {
    if (line.startsWith(endedMark)) {
      return { shown: "never", ended: JSON.parse(line.slice(endedMark.length)) };
    }
    const totals = parseTotals(line);
    if (totals) return { shown: "never", totals };
    return { shown: /^(?:ok| {2}note) {2}/.test(line) ? "watched" : "always" };
  };
}

/**
 * Reads the lines of `deno test`. It prints a line for each test, and the messages of failures at the end. On SIGINT it names the
 * tests that are still open instead of totals, so that the totals are counted here.
 */
export function createDenoReader(): (line: string) => Reading {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const ownTime = countOwnTime();
  let closing = false;
  return (line) => {
    const ended = closing ? undefined : parseDenoTest(line, ownTime);
    if (ended) {
      counts[ended.result]++;
      // Its subtest is shown already.
      const bySubtest = line.includes(" ... FAILED (due to ");
      return { shown: ended.result === "failed" && !bySubtest ? "always" : "broken", ended };
    }
    const interrupted = line.startsWith("SIGINT ");
    closing ||= interrupted || /^(?: ERRORS |error:)/.test(line);
    const totals = interrupted ? { ...counts, failed: counts.failed + 1 } : parseDenoTotals(line);
    if (totals) return { shown: interrupted ? "always" : "never", totals };
    return { shown: closing ? "always" : "broken" };
  };
}

/** Parses `./test/a.test.ts => a test ... its subtest ... ok (12ms)`. */
function parseDenoTest(line: string, ownTime: ReturnType<typeof countOwnTime>): EndedTest | undefined {
  const [, file = "", text, word, time = ""] =
    /^(?:(?:\.\/)?(\S+) => )?(.*) \.\.\. (ok|FAILED|ignored)(?: \(due to .*?\))?(?: \((.*)\))?$/.exec(line) ??
      [];
  if (text === undefined) return undefined;
  const names = text.split(" ... ");
  const id = (names: string[]) => JSON.stringify([file, ...names]);
  return {
    name: joinNames(names),
    file,
    result: word === "ok" ? "passed" : word === "FAILED" ? "failed" : "skipped",
    ownMs: ownTime(id(names), id(names.slice(0, -1)), parseDenoTime(time)),
    counts: true,
  };
}

/** Parses the times of Deno in milliseconds: `519µs`, `12ms`, `1s`, `1m2s`. */
function parseDenoTime(text: string): number {
  const units: Record<string, number> = { µs: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  return [...text.matchAll(/(\d+)(µs|ms|s|m|h)/g)].reduce(
    (sum, [, count, unit = ""]) => sum + Number(count) * units[unit]!,
    0,
  );
}
