/** The end of a run: its slowest tests, and what was not run. */
import { whyAllowed } from "./allowed-skips.ts";
import type { EndedTest } from "./ended-test.ts";
import type { Suite } from "./run-suite.ts";
import { formatTotals, sumTotals, type Totals } from "./totals.ts";

/** How a suite ended on one runtime. */
export interface SuiteResult {
  suite: Pick<Suite, "name" | "runtime" | "title">;
  /** Its totals and its time. */
  line: string;
  totals: Totals;
  /** The lines of its failures. */
  failures: string[];
  tests: EndedTest[];
}

/** Returns the end of the output; `leftOut` says what was not even tried. */
export function formatEnd(results: SuiteResult[], leftOut: string[]): string {
  const failed = results.filter(({ totals }) => totals.failed > 0);
  const sections: [string, string[]][] = [
    ...failed.map(({ line, failures }): [string, string[]] => [`failed: ${line}`, failures]),
    ["slowest tests", slowestTests(results)],
    ["not run", [...skipReasons(results), ...leftOut.map((line) => `${"all".padStart(7)}  ${line}`)]],
    ["totals", results.map(({ line }) => line)],
  ];
  return [
    ...sections.filter(([, lines]) => lines.length > 0).map(([title, lines]) =>
      `\n== ${title}\n${lines.join("\n")}`
    ),
    formatTotals(sumTotals(results.map(({ totals }) => totals))),
  ].join("\n");
}

/** Tests below this are no news. */
const slowMs = 100;

/** Returns the slowest tests of all suites, each with the time that its subtests do not explain. */
function slowestTests(results: SuiteResult[], count = 10): string[] {
  const slow = withTwins(results).filter(({ test }) => test.ownMs >= slowMs);
  return slow.sort((a, b) => b.test.ownMs - a.test.ownMs).slice(0, count).map(({ run, test, twin }) => {
    const seconds = (test.ownMs / 1000).toFixed(1).padStart(7);
    return `${seconds} s  ${run}: ${test.name}  (${twin?.file ?? test.file})`;
  });
}

/** Returns why tests were skipped, with their number, the most frequent reason first; a single test with its name. */
function skipReasons(results: SuiteResult[]): string[] {
  const skipped = withTwins(results).filter(({ test }) => test.result === "skipped");
  const groups = Map.groupBy(
    skipped,
    ({ test, twin }) =>
      test.reason ?? twin?.reason ?? whyAllowed(test.name) ?? `no reason given: ${test.name}`,
  );
  return [...groups].sort(([, a], [, b]) => b.length - a.length).map(([reason, group]) => {
    const name = group.length === 1 && !reason.endsWith(group[0]!.test.name)
      ? `  (${group[0]!.test.name})`
      : "";
    return `${String(group.length).padStart(7)}  ${reason}${name}`;
  });
}

/** A test, where it ran, and for Deno the same test on Node: Deno tells no reasons, and of tests in groups not the file. */
type Twins = { run: string; test: EndedTest; twin?: EndedTest };

function withTwins(results: SuiteResult[]): Twins[] {
  const onNode = new Map(
    results.filter(({ suite }) => suite.runtime === "Node").flatMap(({ suite, tests }) =>
      tests.map((test) => [`${suite.name}: ${test.name}`, test] as const)
    ),
  );
  return results.flatMap(({ suite: { name, runtime }, tests }) =>
    tests.map((test) => ({
      run: `${name} on ${runtime}`,
      test,
      twin: runtime === "Deno" ? onNode.get(`${name}: ${test.name}`) : undefined,
    }))
  );
}
