/**
 * The suites of the project: which files, on which runtime, with which time limits.
 */
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../checkout.ts";
import { groupFiles } from "./groups.ts";
import { compileCache, programPath } from "./program.ts";
import { createDenoReader, createNodeReader } from "./read-output.ts";
import type { Suite } from "./run-suite.ts";

/** The names that the runner accepts. */
export const suiteNames = [
  "unit",
  "caps",
  "process",
  "chaos",
  "cluster",
  "guest",
  "systemd",
  "browser",
  "install",
] as const;
export type SuiteName = typeof suiteNames[number];
/** The default suites. Whole installations take as long as all others together, and matter only for changes to the installer. */
export const usualSuites: readonly SuiteName[] = suiteNames.filter((name) => name !== "install");

/** Suites one after the other; lanes among them run side by side, and the lane continues when all have ended. */
export type Lane = (SuiteName | Lane[])[];

/**
 * The order of the suites: whatever needs a guest in a lane, one guest at a time, and others in another that takes as long. More next
 * to the process tests would make these miss their deadlines on two CPUs. Shares of a CPU are measured on a
 * reserved CPU (see `cpusOf`): suites that are not pinned wait for the end of `caps`, which is the first of its lane.
 */
export function planOf(names: readonly SuiteName[]): Lane {
  const plan: Lane = [
    "unit",
    [["caps", "guest", "systemd", "install", "chaos"], ["process", "browser", "cluster"]],
  ];
  const wanted = (lane: Lane): Lane =>
    lane.flatMap((step): Lane => {
      if (!Array.isArray(step)) return names.includes(step) ? [step] : [];
      const lanes = step.map(wanted).filter((lane) => lane.length > 0);
      return lanes.length > 1 ? [lanes] : lanes.flat();
    });
  return wanted(plan);
}

/** The suites that leave a CPU to `caps`, and then to the first guests. */
const pinned: readonly SuiteName[] = ["process", "browser"];

/** Reports whether a suite may run while `caps` measures. */
export function runsBesideCaps(name: SuiteName): boolean {
  return name === "caps" || pinned.includes(name);
}

/** Returns the CPUs of a suite, in the format of taskset; suites that run next to `caps` leave it one. */
export function cpusOf(name: SuiteName, cpus = allowedCpus()): string | undefined {
  const [first, ...others] = cpus;
  if (others.length === 0) return undefined;
  if (name === "caps") return String(first);
  return pinned.includes(name) ? others.join() : undefined;
}

/** Returns the CPUs that this process may use: in a container they may have any numbers. */
export function allowedCpus(status: string = readFileSync("/proc/self/status", "utf8")): number[] {
  const list = /^Cpus_allowed_list:\s+([\d,-]+)$/m.exec(status)?.[1] ?? "";
  return list.split(",").filter(Boolean).flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

/** The real parts that a suite needs, by their names in install-parts.sh. */
export const suiteParts: Record<SuiteName, string[]> = {
  unit: ["promtool", "compilers", "lua"],
  caps: ["guest"],
  process: ["promtool", "fuse", "compilers", "shells", "tmux"],
  chaos: ["compilers"],
  cluster: ["control-plane", "compilers"],
  guest: ["guest", "compilers"],
  systemd: ["systemd-guest"],
  browser: ["chromium", "compilers"],
  install: ["systemd-guest"],
};

/** Suites that start the program on this machine; guests have their own copy. */
export const programSuites: readonly SuiteName[] = ["process", "chaos", "cluster", "browser"];

/**
 * A suffix names the suite of a file: `exec.process.test.ts` is a process test. Files without one belong to the suite that their
 * folder is named for, and are unit tests elsewhere.
 */
const suffixes: readonly SuiteName[] = ["caps", "install", "process", "systemd"];
const folders: readonly SuiteName[] = ["browser", "chaos", "cluster", "guest"];

/**
 * What runs on Node alone; everything else, a new folder too, runs on both. Deno runs what touches the runtime: files, sockets,
 * processes, streams, crypto and timers, which is `lib`, `kube`, `server`, `cgroups`, `sources`, `supervisor`, `node`, `agent` and
 * the commands. Nothing is lost, since Deno checks the types of all files and runs the same code inside of the agents and commands of
 * the process tests.
 */
const nodeOnly = new RegExp(`^test/(?:${
  [
    // Decides from values; what it sends and gets passes through `kube`, which runs on both.
    ...["api", "bench", "chaos", "controller", "fuzz", "report", "scheduler", "sets", "sync"],
    ...["cli/plugin", "cli/screen", "cli/top", "supervisor/cron-times", "supervisor/decide"],
    // Checks and builds the program, and never runs on Deno.
    ...["install", "tools"],
    // Its subject is another program: shells and their scripts, promtool, Java, or the launcher.
    ...["cli/completion", "examples/services", "server/monitoring", "supervisor/launcher/launcher"],
    ...["supervisor/logs/launcher-log", "supervisor/real-programs", "supervisor/script/windows-scripts"],
    // Its subject is the text of commands. Others call commands as processes, with their streams, signals and terminals.
    ...["cli/commands/apply", "cli/everyday"],
  ].join("|")
})[/.]`);

const minutes = 60_000;
// Tests wait for processes more than they compute, so one at a time would leave a small machine idle.
const jobs = Math.max(2, availableParallelism());

/**
 * The runs of a suite: those that need no real part run on both runtimes, except `nodeOnly`. `only` picks files by a part of their
 * path, or else tests by name; `among` limits the files.
 */
export function runsOf(name: SuiteName, only?: string, among?: string[]): Suite[] {
  const { files, pattern } = pick(testFiles(name).filter((file) => among?.includes(file) ?? true), only);
  if (files.length === 0) return [];
  if (name !== "unit" && name !== "process") {
    // A guest uses a CPU all the time, and other suites run next to it. Cluster tests mostly wait, for each other's programs.
    const factor = name === "guest" || name === "systemd" ? 0.5 : name === "cluster" ? 2 : 1;
    const atOnce = Math.ceil(factor * jobs);
    return [onNode(name, files, atOnce, pattern, 30 * minutes, 20 * minutes)];
  }
  // All groups of unit tests run at once: a part of them waits for deadlines at any time.
  const groups = (runtime: string, files: string[], count: number): [modules: string[], atOnce: number] =>
    name === "unit" ? [groupFiles(`${name}-${runtime}`, files, count), count] : [files, jobs];
  const onBoth = files.filter(runsOnDeno);
  return [
    onNode(name, ...groups("node", files, 4 * jobs), pattern, 10 * minutes, 2 * minutes),
    ...(onBoth.length > 0 ? [onDeno(name, ...groups("deno", onBoth, 2 * jobs), pattern, 10 * minutes)] : []),
  ];
}

/** Reports whether a test file runs on Deno, too. */
export function runsOnDeno(file: string): boolean {
  return !nodeOnly.test(file);
}

/** The test files of a suite. */
function testFiles(name: SuiteName): string[] {
  return globSync("test/**/*.test.ts", { cwd: checkout }).filter((file) => suiteOf(file) === name).sort();
}

/** The suite that a test file belongs to. */
export function suiteOf(file: string): SuiteName {
  const [, folder = "", suffix = ""] = /^test\/(?:([^/]+)\/)?(?:.*?\.([^./]+))?[^/]*\.test\.ts$/.exec(file) ??
    [];
  const named = suffixes.find((name) => name === suffix) ?? folders.find((name) => name === folder);
  return named ?? "unit";
}

/** Returns the files whose path contains `only`; if there are none, those with such a test name, and a pattern for it. */
export function pick(
  files: string[],
  only: string | undefined,
  read: (file: string) => string = (file) => readFileSync(join(checkout, file), "utf8"),
): { files: string[]; pattern?: string } {
  if (only === undefined) return { files };
  const byPath = files.filter((file) => file.includes(only));
  if (byPath.length > 0) return { files: byPath };
  return { files: files.filter((file) => read(file).includes(only)), pattern: only };
}

function heldTo(cpus: string | undefined): string[] {
  return cpus === undefined ? [] : ["taskset", "--cpu-list", cpus];
}

function onNode(
  name: SuiteName,
  files: string[],
  atOnce: number,
  pattern: string | undefined,
  timeoutMs: number,
  testTimeoutMs: number,
): Suite {
  return {
    name,
    runtime: "Node",
    title: `${name} tests on Node ${process.versions.node}`,
    command: [
      ...heldTo(cpusOf(name)),
      process.execPath,
      "--test",
      `--test-concurrency=${atOnce}`,
      `--test-timeout=${testTimeoutMs}`,
      `--test-reporter=${join(checkout, "tools/test/reporter.ts")}`,
      ...(pattern === undefined ? [] : [`--test-name-pattern=${RegExp.escape(pattern)}`]),
      ...files,
    ],
    // Each file is a separate process: without a cache, half of its time would go into compiling the same modules.
    env: {
      NODE_COMPILE_CACHE: compileCache,
      ...(programSuites.includes(name) && { NCKUBELET_BIN: programPath }),
    },
    timeoutMs,
    read: createNodeReader(),
  };
}

function onDeno(
  name: SuiteName,
  files: string[],
  atOnce: number,
  pattern: string | undefined,
  timeoutMs: number,
): Suite {
  return {
    name,
    runtime: "Deno",
    title: `${name} tests on Deno`,
    command: [
      ...heldTo(cpusOf(name)),
      join(checkout, "node_modules/.bin/deno"),
      "test",
      "--quiet",
      "--allow-all",
      "--no-check",
      "--parallel",
      ...(pattern === undefined ? [] : ["--filter", pattern]),
      ...files,
    ],
    env: { DENO_JOBS: String(atOnce), DENO_NO_UPDATE_CHECK: "1" },
    timeoutMs,
    read: createDenoReader(),
  };
}
