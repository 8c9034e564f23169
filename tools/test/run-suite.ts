/**
 * Runs one test suite as a process group of its own, shows what it says, and counts.
 *
 * Guarantees: a suite that does not end by itself is ended at its time limit and has failed; one whose totals cannot be read has
 * failed, whatever its exit code. Nothing that the suite started is left: what is left is named, ended, and is a failure.
 * Caveat: a process is known by the environment that it inherited; one that was given a clean one is not found.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { findLeftovers, runMark } from "./leftovers.ts";
import type { Totals } from "./totals.ts";

/** A command that runs tests. */
export interface Suite {
  title: string;
  command: string[];
  env?: Record<string, string>;
  timeoutMs: number;
  /** Whether a line is shown at once. The last ones that were not are shown where the suite breaks. */
  shows: (line: string) => boolean;
  /** Recognizes the line with the totals. */
  parse: (line: string) => Totals | undefined;
}

const keptLines = 30;
const running = new Set<ChildProcess>();

/** Runs a suite and gives its totals. */
export async function runSuite(suite: Suite, print: (line: string) => void): Promise<Totals> {
  const [file = "", ...args] = suite.command;
  const run = randomUUID();
  const child = spawn(file, args, {
    env: { ...process.env, ...suite.env, NO_COLOR: "1", [runMark]: run },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  const timer = setTimeout(() => {
    print(`the suite did not end within ${suite.timeoutMs / 1000} s`);
    endGroup(child, "SIGKILL");
  }, suite.timeoutMs);

  let totals: Totals | undefined;
  const unseen: string[] = [];
  const read = (line: string) => {
    const found = suite.parse(line);
    if (found) totals = found;
    else if (suite.shows(line)) print(line);
    else if (unseen.push(line) > keptLines) unseen.shift();
  };
  createInterface({ input: child.stdout }).on("line", read);
  createInterface({ input: child.stderr }).on("line", read);
  const [code, signal] = await once(child, "close") as [number | null, string | null];
  clearTimeout(timer);
  running.delete(child);

  const result = totals ?? { passed: 0, failed: 0, skipped: 0 };
  const leftovers = findLeftovers(run);
  for (const { pid, command } of leftovers) {
    print(`FAIL  left behind: process ${pid}, ${command}`);
    process.kill(pid, "SIGKILL");
  }
  const explained = totals !== undefined && (code === 0) === (totals.failed === 0);
  if (!explained) {
    for (const line of unseen) print(line);
    print(`FAIL  the suite ended with ${signal ?? `code ${code}`}, which its totals do not explain`);
  }
  return { ...result, failed: result.failed + leftovers.length + (explained ? 0 : 1) };
}

/** Ends the suites that run now; for a runner that is told to stop. */
export function endSuites(signal: NodeJS.Signals): void {
  for (const child of running) endGroup(child, signal);
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // It has ended already.
  }
}
