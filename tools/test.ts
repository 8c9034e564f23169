/**
 * Runs the tests: unit tests on Node and on Deno, then those with real parts (processes, faults, an API server, a cgroup v2
 * kernel, a browser), in lanes side by side, since they wait more than they compute. Whole installations run only if they are
 * named. As root on a machine with apt-get, missing parts are installed while suites run that have theirs.
 *
 * Usage: node tools/test.ts [unit|caps|process|chaos|cluster|guest|systemd|browser|install]... [OPTION]...
 *   --only TEXT   only files with TEXT in their path; if there are none, tests with TEXT in their name
 *   --changed     only files that changed since the branch left main, or that import what changed
 *   --kubernetes VERSION|oldest
 *                 the control plane in the cache whose version starts so; default: the newest. "oldest" runs nothing if
 *                 that is the default
 *   --kernel VERSION
 *                 the User-Mode Linux kernel of guests, such as 6.1; default: the newest that works
 *
 * A terminal shows what is under way in lines at its bottom; a pipe, or CI=true, gets a line per step, and failures at once. The end
 * repeats failures, and names the slowest tests and what was not run. The last line is the total: `N passed, N failed, N skipped`.
 * The exit code is 1 if anything failed.
 */
import process from "node:process";
import { controlPlaneFolders } from "../test/harness/parts.ts";
import { checkout } from "./checkout.ts";
import { changedTests } from "./test/changed.ts";
import { controlPlanePart, findVersion } from "./test/choose-control-plane.ts";
import { openHistory } from "./test/history.ts";
import { whyNotInstall } from "./test/install-part.ts";
import { startQueue } from "./test/need-queue.ts";
import { type Need, needsOf, orderNeeds, program } from "./test/needs.ts";
import { makeProgram } from "./test/program.ts";
import { formatEnd, type SuiteResult } from "./test/report.ts";
import { readRequest } from "./test/request.ts";
import { runLanes } from "./test/run-lanes.ts";
import { endSuites } from "./test/run-suite.ts";
import { openScreen } from "./test/screen.ts";
import { planOf, runsOf, type SuiteName, usualSuites } from "./test/suites.ts";
import { formatTotals, sumTotals } from "./test/totals.ts";
import { installWithProgress, runWithProgress } from "./test/with-progress.ts";

const screen = openScreen();
const progress = { screen, history: openHistory() };
/** Aborted by a signal: no other suite starts, and what runs ends with all its processes. */
const stopping = new AbortController();
/** The suites that were not started, each with the reason. */
const leftOut: string[] = [];

async function main(words: string[]): Promise<number> {
  const { names, only, changed, kubernetes, kernel } = readRequest(words);
  process.chdir(checkout);
  if (kernel !== undefined) process.env.NCKUBELET_KERNEL = kernel;
  const among = changed ? changedTests() : undefined;
  if (among?.length === 0) return screen.print("no test file imports what changed"), 0;
  const whole = only === undefined && among === undefined;
  const plan = planOf(names.filter((name) => runsOf(name, only, among).length > 0));
  if (names === usualSuites && whole) leftOut.push("install: takes npm run test:install");

  const needs = (name: SuiteName) => needsOf(name, controlPlanePart(kubernetes));
  const queue = startQueue(orderNeeds(plan, needs), makerOfNeeds());
  // A suite runs on its runtimes side by side.
  const start = async (name: SuiteName): Promise<SuiteResult[]> => {
    const why = stopping.signal.aborted
      ? "interrupted"
      : name === "cluster" && kubernetes
      ? useControlPlane(kubernetes)
      : undefined;
    if (why !== undefined) return leftOut.push(`${name}: ${why}`), [];
    return await Promise.all(runsOf(name, only, among).map((run) => runWithProgress(run, whole, progress)));
  };
  const results = await runLanes(plan, (name) => {
    const run = name === "caps"
      ? queue.undisturbed(() => start(name))
      : queue.made(needs(name)).then(() => start(name));
    return run.catch((error: Error) => [couldNotStart(name, error)]);
  });

  const total = sumTotals(results.map(({ totals }) => totals));
  if (only !== undefined && total.passed + total.failed + total.skipped === 0) {
    throw new Error(`no test has ${JSON.stringify(only)} in its path or name`);
  }
  screen.print(formatEnd(results, leftOut));
  return total.failed === 0 ? 0 : 1;
}

/** Returns what installs parts and builds the program. */
function makerOfNeeds(): (need: Need) => Promise<void> {
  const why = whyNotInstall();
  if (why) screen.print(`missing parts are not installed: ${why}; tests that need them are skipped`);
  return async (need) => {
    if (need === program) await makeProgram();
    else if (!why) await installWithProgress(need, stopping.signal, progress);
  };
}

/** Makes the tests run on this control plane; returns why not, if they do so anyway. Without any, each test says what is missing. */
function useControlPlane(version: string): string | undefined {
  if (controlPlaneFolders().length === 0) return undefined;
  const folder = findVersion(version);
  if (!folder) return "the oldest control plane at hand is the default";
  process.env.KUBEBUILDER_ASSETS = folder;
}

function couldNotStart(name: SuiteName, { message }: Error): SuiteResult {
  const line = `FAIL  ${name} tests could not start: ${message}`;
  screen.print(line);
  const totals = { passed: 0, failed: 1, skipped: 0 };
  const suite = { name, runtime: "Node", title: name } as const;
  return { suite, line: `${name}: ${formatTotals(totals)}`, totals, failures: [line], tests: [] };
}

const patienceMs = 5000;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopping.abort();
    endSuites("SIGTERM");
    setTimeout(() => endSuites("SIGKILL"), patienceMs).unref();
  });
}
process.on("exit", () => screen.close());

const code = await main(process.argv.slice(2)).catch((error: Error) => {
  screen.close();
  console.error(`test: ${error.message}`);
  return 2;
});
screen.close();
process.exitCode = stopping.signal.aborted ? 130 : code;
