/**
 * Runs commands inside of a run: in its cgroup, as its user, with its environment and in its folder. Stop files, exec probes and
 * `nckubelet exec` all use this. A stop file is part of the app and writes to its log; the others are exec processes, see
 * exec-processes.ts.
 */
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { findEntry } from "../../../cgroups/mod.ts";
import { sleep, waitAtMost } from "../../lib/sleep.ts";
import { cleanPath } from "../../lib/shell.ts";
import type { EnterOptions, Entrance } from "../launcher/launcher.ts";
import { execMarker, pidVariable } from "../processes.ts";
import { requireRunContext } from "./run-context.ts";

export interface ExecResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  output: string;
  /** Why the command was not executed; undefined if it was. Its status alone could be one of the command's own. */
  notExecuted?: string;
}

type Exit = [code: number | null, signal: NodeJS.Signals | null];

const afterKillMs = 1000;
const lastOutputMs = 250;
/** What is kept of the reason why a command was not executed. */
const reasonBytes = 1024;

/** The full command line that executes `command` in the run as an exec process. */
export async function execCommandLine(
  runFolder: string,
  command: string[],
  { launcher, pid, onTerminal }: { launcher: Entrance; pid?: number; onTerminal?: boolean },
): Promise<string[]> {
  const words = await commandLine(runFolder, command, launcher, { onTerminal });
  const variables = { [execMarker]: basename(runFolder), ...pidOf(pid) };
  return ["/usr/bin/env", ...Object.entries(variables).map(([name, value]) => `${name}=${value}`), ...words];
}

/**
 * Executes a command in the run and waits for it to exit; after `timeoutMs` it is killed. Its output goes to the run's pipe or to `log`, or the first
 * `captureBytes` of it into the result. When `signal` aborts, the wait ends with an error and the command continues; when `end` aborts,
 * the command is killed.
 */
export async function execInRun(
  runFolder: string,
  command: string[],
  { timeoutMs, launcher, pid, log, output: pipe, captureBytes = 0, signal: stopWaiting, end }:
    & Pick<EnterOptions, "log" | "output">
    & {
      timeoutMs: number;
      launcher: Entrance;
      /** The main process of the app, for $NCAPP_PID. */
      pid?: number;
      captureBytes?: number;
      signal?: AbortSignal;
      end?: AbortSignal;
    },
): Promise<ExecResult> {
  const options = { log, output: pipe, reports: true };
  const [file = "", ...args] = await commandLine(runFolder, command, launcher, options);
  const env = { PATH: cleanPath, ...(log ? {} : { [execMarker]: basename(runFolder) }), ...pidOf(pid) };
  stopWaiting?.throwIfAborted();
  const output = captureBytes > 0 ? "pipe" : "ignore";
  // Not detached: a group leader's setsid would fork, and the command would not be the child that is waited for.
  const child = spawn(file, args, { cwd: "/", env, stdio: ["ignore", output, output, "pipe"] });
  const captured = capture([child.stdout, child.stderr], captureBytes);
  const report = child.stdio[3] as Readable | null | undefined;
  const reason = capture([report], reasonBytes);
  // It closes when the command is executed, or when the launcher has ended.
  const reported = report && once(report, "close").catch(() => {});
  const closed = once(child, "close").catch(() => {});
  const kill = () => killSession(child);
  end?.addEventListener("abort", kill, { once: true });
  if (end?.aborted) kill();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, timeoutMs);
  const done = new AbortController();
  try {
    // A process that even SIGKILL does not end must not block the caller.
    const unkillable = sleep(timeoutMs + afterKillMs, done.signal).then(() => [null, "SIGKILL"]);
    const [code, signal] = await Promise.race([
      once(child, "exit", { signal: stopWaiting }),
      unkillable,
    ]) as Exit;
    // The exit may come before the last output. What the command left in the background may hold the other ends.
    if (captureBytes > 0) await waitAtMost(lastOutputMs, closed);
    if (reported) await waitAtMost(lastOutputMs, reported);
    const [notExecuted = ""] = reason().replace(/^nckubelet: /, "").split("\n");
    return { code, signal, timedOut, output: captured(), ...(notExecuted ? { notExecuted } : {}) };
  } finally {
    done.abort();
    clearTimeout(timer);
    end?.removeEventListener("abort", kill);
    // A command that continues must not keep the agent from exiting.
    child.unref();
    // What the command left in the background may hold the other ends forever.
    child.stdout?.destroy();
    child.stderr?.destroy();
    report?.destroy();
  }
}

function pidOf(pid: number | undefined): Record<string, string> {
  return pid === undefined ? {} : { [pidVariable]: String(pid) };
}

async function commandLine(
  runFolder: string,
  command: string[],
  launcher: Entrance,
  options: EnterOptions,
): Promise<string[]> {
  const context = await requireRunContext(runFolder);
  const leaf = context.leaf && findEntry(context.leaf);
  return launcher.enterCommand({ ...context, leaf }, command, options);
}

/** Keeps the first `most` bytes of the streams; the rest is read and dropped, so that the command never blocks. */
function capture(streams: (Readable | null | undefined)[], most: number): () => string {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const stream of streams) {
    stream?.on("data", (chunk: Uint8Array) => {
      if (length < most) chunks.push(chunk.subarray(0, most - length));
      length += chunk.length;
    });
  }
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Kills the command with everything it started, or only itself while it has no session of its own yet. */
function killSession(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
