/**
 * Runs one test suite in its own process group, shows its output, and counts.
 *
 * Guarantees: a suite that hangs is interrupted at its time limit, names the tests that are still open, keeps its totals, and has
 * failed. A suite whose totals cannot be read has failed, whatever its exit code. With CI=true a skip that is not allowed is a
 * failure. Processes that the suite leaves behind are named and killed, and are failures.
 * Caveat: a process is known by the environment that it inherited; one with a clean environment is not found.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { maySkip } from "./allowed-skips.ts";
import type { EndedTest } from "./ended-test.ts";
import { findLeftovers, runMark } from "./leftovers.ts";
import { endGroup } from "./process-group.ts";
import type { Reading } from "./read-output.ts";
import type { Totals } from "./totals.ts";

/** A command that runs tests. */
export interface Suite {
  name: string;
  runtime: "Node" | "Deno";
  /** Names both. */
  title: string;
  command: string[];
  env?: Record<string, string>;
  timeoutMs: number;
  /** Reads a line of output. */
  read: (line: string) => Reading;
}

/** Hears of a running suite. */
export interface SuiteListener {
  /** A line that nobody may miss: of a failure, mostly. */
  print(line: string): void;
  /** A line for one who watches. */
  tell(line: string): void;
  ended(test: EndedTest): void;
}

const keptLines = 30;
/** How long an interrupted suite has to name its open tests. */
const interruptMs = 10_000;
const running = new Set<ChildProcess>();

/** Runs a suite and returns its totals. */
export async function runSuite(suite: Suite, listener: SuiteListener): Promise<Totals> {
  const { print } = listener;
  const [file = "", ...args] = suite.command;
  const run = randomUUID();
  const child = spawn(file, args, {
    env: { ...process.env, ...suite.env, NO_COLOR: "1", [runMark]: run },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  const timer = setTimeout(() => {
    print(`FAIL  the suite did not end within ${suite.timeoutMs / 1000} s; these tests are still open:`);
    // Only the runner: it would report tests whose processes end as failed, not as open.
    child.kill("SIGINT");
    setTimeout(() => endGroup(child, "SIGKILL"), interruptMs).unref();
  }, suite.timeoutMs);

  let totals: Totals | undefined;
  const skipped: string[] = [];
  const unseen: string[] = [];
  const read = (line: string) => {
    const reading = suite.read(line);
    totals = reading.totals ?? totals;
    if (reading.ended) listener.ended(reading.ended);
    if (reading.ended?.result === "skipped") skipped.push(describeSkip(reading.ended));
    if (reading.shown === "always") print(line);
    else if (reading.shown === "watched") listener.tell(line);
    else if (reading.shown === "broken" && unseen.push(line) > keptLines) unseen.shift();
  };
  createInterface({ input: child.stdout }).on("line", read);
  createInterface({ input: child.stderr }).on("line", read);
  const [code, signal] = await once(child, "close") as [number | null, string | null];
  clearTimeout(timer);
  running.delete(child);
  // Processes that an interrupted runner leaves behind.
  endGroup(child, "SIGKILL");

  const result = totals ?? { passed: 0, failed: 0, skipped: 0 };
  const leftovers = findLeftovers(run);
  for (const { pid, command } of leftovers) {
    print(`FAIL  left behind: process ${pid}, ${command}`);
    process.kill(pid, "SIGKILL");
  }
  const forbidden = process.env.CI === "true" ? skipped.filter((name) => !maySkip(name)) : [];
  for (const name of forbidden) {
    print(`FAIL  skipped with CI=true, and not in tools/test/allowed-skips.ts: ${name}`);
  }
  const explained = totals !== undefined && (code === 0) === (totals.failed === 0);
  if (!explained) {
    for (const line of unseen) print(line);
    print(`FAIL  the suite ended with ${signal ?? `code ${code}`}, which its totals do not explain`);
  }
  return { ...result, failed: result.failed + leftovers.length + forbidden.length + (explained ? 0 : 1) };
}

/** Describes a skipped test by its name and the reason, as far as there is one. */
export function describeSkip({ name, reason }: EndedTest): string {
  return reason === undefined ? name : `${name}: ${reason}`;
}

/** Ends the running suites. */
export function endSuites(signal: NodeJS.Signals): void {
  for (const child of running) endGroup(child, signal);
}
