/** Runs suites and installs parts with a live line, and remembers how long they took. */
import { collectFailures } from "./failures.ts";
import type { History } from "./history.ts";
import { installPart } from "./install-part.ts";
import type { Step } from "./live-lines.ts";
import type { SuiteResult } from "./report.ts";
import { describeSkip, runSuite, type Suite } from "./run-suite.ts";
import type { Screen } from "./screen.ts";
import { formatTotals, sumTotals } from "./totals.ts";

/** Where progress is shown and remembered. */
export interface Progress {
  screen: Screen;
  history: History;
}

/** What ends before that was there, mostly, and says nothing about the next time. */
const installMs = 2000;

/** Runs a suite; `whole` says that none of its tests is left out, so that it compares with other runs. */
export async function runWithProgress(
  suite: Suite,
  whole: boolean,
  { screen, history }: Progress,
): Promise<SuiteResult> {
  screen.print(`== ${suite.title}`);
  const expected = whole ? history.get(suite.title) : undefined;
  const tests = { done: 0, of: expected?.tests };
  const step: Step = stepNow(suite.title, expected?.ms, tests);
  const failures = collectFailures();
  const result: SuiteResult = { suite, line: "", totals: sumTotals([]), failures: failures.lines, tests: [] };
  result.totals = await screen.during(step, () =>
    runSuite(suite, {
      print(line) {
        screen.print(line);
        failures.hear(line);
      },
      tell(line) {
        screen.tell(line);
        failures.hear(line);
      },
      ended(test) {
        result.tests.push(test);
        if (test.counts) tests.done++;
        // Deno names the module of a group, which says nothing.
        step.newest = test.file.endsWith(".test.ts") ? test.file : test.name;
        if (test.result === "skipped") screen.tell(`  skip  ${describeSkip(test)}`);
      },
    }));
  const ms = performance.now() - step.startedMs;
  result.line = `${suite.title}: ${formatTotals(result.totals)} (${seconds(ms)})`;
  screen.print(`== ${result.line}`);
  if (whole && result.totals.failed === 0) history.set(suite.title, { ms, tests: tests.done });
  return result;
}

/** Installs a part, if it is not there. Tests without their part are skipped with a reason, or fail with CI=true. */
export async function installWithProgress(
  part: string,
  signal: AbortSignal,
  { screen, history }: Progress,
): Promise<void> {
  const title = `installing ${part}`;
  const step = stepNow(title, history.get(title)?.ms);
  const errors = await screen.during(step, () =>
    installPart(part, {
      signal,
      hear(message) {
        step.newest = message;
        if (!screen.live) screen.print(`install-parts: ${message}`);
      },
    }));
  if (signal.aborted) return;
  const ms = performance.now() - step.startedMs;
  if (errors) screen.print([`cannot install ${part}; tests that need it are skipped:`, ...errors].join("\n"));
  if (errors || step.newest === undefined) return;
  // A live line is gone now, and its last message may say which version it is.
  screen.print(`== part ${part} is there (${seconds(ms)})${screen.live ? `: ${step.newest}` : ""}`);
  if (ms >= installMs) history.set(title, { ms });
}

function stepNow(title: string, expectedMs?: number, tests?: Step["tests"]): Step {
  return { title, startedMs: performance.now(), expectedMs, tests };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
