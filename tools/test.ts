/**
 * Runs the tests: unit tests on Node and on Deno, then those with real parts (processes, faults, an API server, a cgroup v2
 * kernel, a browser), in lanes side by side, since they wait more than they compute. Whole installations run only if they are
 * named.
 *
 * Usage: node tools/test.ts [unit|caps|process|chaos|cluster|guest|systemd|browser|install]... [OPTION]...
 *   --only TEXT   only files with TEXT in their path; if there are none, tests with TEXT in their name
 *   --changed     only files that changed since the branch left main, or that import what changed
 *   --kubernetes VERSION|oldest
 *                 the control plane in the cache whose version starts so; default: the newest. "oldest" runs nothing if
 *                 there is only one
 *
 * The last line is the total: `N passed, N failed, N skipped`; failures are repeated before it. The exit code is 1 if anything
 * failed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { controlPlaneFolders } from "../test/harness/parts.ts";
import { checkout } from "./checkout.ts";
import { changedTests } from "./test/changed.ts";
import { collectFailures } from "./test/failures.ts";
import { makeProgram } from "./test/program.ts";
import { runLanes } from "./test/run-lanes.ts";
import { endSuites, runSuite, type Suite } from "./test/run-suite.ts";
import {
  planOf,
  programSuites,
  runsOf,
  type SuiteName,
  suiteNames,
  suiteParts,
  usualSuites,
} from "./test/suites.ts";
import { formatTotals, sumTotals, type Totals } from "./test/totals.ts";

async function main(words: string[]): Promise<number> {
  const { names, only, changed, kubernetes } = readRequest(words);
  process.chdir(checkout);
  const among = changed ? changedTests() : undefined;
  if (among?.length === 0) return console.log("no test file imports what changed"), 0;
  const needed = names.filter((name) => runsOf(name, only, among).length > 0);
  await installParts(needed.flatMap((name) => suiteParts[name]));
  if (kubernetes && !chooseControlPlane(kubernetes)) {
    return console.log("there is only one control plane at hand, the default"), 0;
  }
  if (needed.some((name) => programSuites.includes(name))) await makeProgram();
  // A suite runs on its runtimes side by side.
  const run = (name: SuiteName) => Promise.all(runsOf(name, only, among).map(runOne));
  const results = await runLanes(planOf(names), run, stopping.signal);
  const total = sumTotals(results.map(({ totals }) => totals));
  if (only !== undefined && total.passed + total.failed === 0) {
    throw new Error(`no test has ${JSON.stringify(only)} in its path or name`);
  }
  for (const { line, failures } of results.filter(({ totals }) => totals.failed > 0)) {
    console.log(`\n== failed: ${line}\n${failures.join("\n")}`);
  }
  console.log(`\n${results.map(({ line }) => line).join("\n")}\n${formatTotals(total)}`);
  return total.failed === 0 ? 0 : 1;
}

interface SuiteResult {
  line: string;
  totals: Totals;
  failures: string[];
}

async function runOne(suite: Suite): Promise<SuiteResult> {
  console.log(`\n== ${suite.title}`);
  const start = performance.now();
  const failures = collectFailures();
  const totals = await runSuite(suite, (text) => {
    console.log(text);
    failures.hear(text);
  });
  const line = `${suite.title}: ${formatTotals(totals)} (${seconds(start)})`;
  console.log(`== ${line}`);
  return { line, totals, failures: failures.lines };
}

/** Makes the tests run on this control plane; returns whether it is another than the default. */
function chooseControlPlane(version: string): boolean {
  const folders = controlPlaneFolders();
  const chosen = version === "oldest"
    ? folders.at(-1)
    : folders.find((folder) => basename(folder).startsWith(`control-plane-${version}`));
  if (!chosen) throw new Error(`no control plane ${version}: there are ${folders.join(", ") || "none"}`);
  process.env.KUBEBUILDER_ASSETS = chosen;
  return version !== "oldest" || folders.length > 1;
}

type Request = { names: readonly SuiteName[]; only?: string; changed: boolean; kubernetes?: string };

function readRequest(words: string[]): Request {
  const { values, positionals } = parseArgs({
    args: words,
    options: {
      only: { type: "string" },
      changed: { type: "boolean", default: false },
      kubernetes: { type: "string" },
    },
    allowPositionals: true,
  });
  const unknown = positionals.find((word) => !(suiteNames as readonly string[]).includes(word));
  if (unknown !== undefined) {
    throw new Error(`unknown suite ${JSON.stringify(unknown)}: use ${suiteNames.join(", ")}`);
  }
  const names = positionals.length > 0 ? positionals as SuiteName[] : usualSuites;
  return { names, ...values };
}

/** Installs one part after the other; tests without their part are skipped with a reason, or fail with CI=true. */
async function installParts(parts: string[]): Promise<void> {
  for (const part of parts) {
    const script = join(checkout, "test/harness/install-parts.sh");
    const child = spawn("bash", [script, part], { stdio: ["ignore", "inherit", "inherit"] });
    const [code] = await once(child, "exit") as [number | null];
    if (code !== 0) console.log(`cannot install ${part}; tests that need it are skipped`);
  }
}

function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** Aborted by a signal: no other suite starts, and the running ones end with all their processes. */
const stopping = new AbortController();
const patienceMs = 5000;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopping.abort();
    endSuites("SIGTERM");
    setTimeout(() => endSuites("SIGKILL"), patienceMs).unref();
  });
}

const code = await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`test: ${error.message}`);
  return 2;
});
process.exitCode = stopping.signal.aborted ? 130 : code;
