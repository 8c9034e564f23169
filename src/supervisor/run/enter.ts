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
import { sleep } from "../../lib/sleep.ts";
import { cleanPath } from "../../lib/shell.ts";
import { entryScript } from "./launcher-script.ts";
import { execMarker } from "./exec-processes.ts";
import { requireRunContext, type RunContext } from "./run-context.ts";

export interface ExecResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  output: string;
}

type Exit = [code: number | null, signal: NodeJS.Signals | null];

const afterKillMs = 1000;

const joinScript = `leaf=$1 environment=$2 log=$3
shift 3
[ -z "$leaf" ] || echo 0 >"$leaf/cgroup.procs" || exit 126
{ echo 0 >/proc/self/oom_score_adj; } 2>/dev/null
umask 022
if [ -n "$log" ]; then exec >>"$log" 2>&1; fi
exec "$@" 3<"$environment"`;

/** The command that becomes the app's user, loads its environment, enters its folder and executes `command`. */
export function entryCommand({ privileges, workingDir }: RunContext, command: string[]): string[] {
  return [...privileges, "/bin/sh", "-c", entryScript, "nckubelet-entry", workingDir, ...command];
}

/** The full command line that executes `command` in the run as an exec process. */
export async function execCommandLine(runFolder: string, command: string[]): Promise<string[]> {
  const words = await commandLine(runFolder, command, "");
  return ["/usr/bin/env", `${execMarker}=${basename(runFolder)}`, ...words];
}

/**
 * Executes a command in the run and waits for it to exit; after `timeoutMs` it is killed. Its output goes to `log`, or the first
 * `captureBytes` of it into the result. When the signal aborts, the wait ends with an error and the command continues.
 */
export async function execInRun(
  runFolder: string,
  command: string[],
  { timeoutMs, log, captureBytes = 0, signal: stopWaiting }: {
    timeoutMs: number;
    log?: string;
    captureBytes?: number;
    signal?: AbortSignal;
  },
): Promise<ExecResult> {
  const [file = "", ...args] = await commandLine(runFolder, command, log ?? "");
  const env = { PATH: cleanPath, ...(log ? {} : { [execMarker]: basename(runFolder) }) };
  stopWaiting?.throwIfAborted();
  const output = captureBytes > 0 ? "pipe" : "ignore";
  // Not detached: a group leader's setsid would fork, and the command would not be the child that is waited for.
  const child = spawn(file, args, { cwd: "/", env, stdio: ["ignore", output, output] });
  const captured = captureOutput(child, captureBytes);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killSession(child);
  }, timeoutMs);
  const done = new AbortController();
  try {
    // A process that even SIGKILL does not end must not block the caller.
    const unkillable = sleep(timeoutMs + afterKillMs, done.signal).then(() => [null, "SIGKILL"]);
    const [code, signal] = await Promise.race([
      once(child, "exit", { signal: stopWaiting }),
      unkillable,
    ]) as Exit;
    return { code, signal, timedOut, output: captured() };
  } finally {
    done.abort();
    clearTimeout(timer);
    // A command that continues must not keep the agent from exiting.
    child.unref();
    // What the command left in the background may hold the other ends forever.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** The command line that executes `command` in the run; its output goes to `log` unless that is empty. */
async function commandLine(runFolder: string, command: string[], log: string): Promise<string[]> {
  const context = await requireRunContext(runFolder);
  const { leaf, environment } = context;
  const entry = entryCommand(context, command);
  return ["/bin/sh", "-c", joinScript, "nckubelet-exec", leaf, environment, log, ...entry];
}

/** Keeps the first `most` bytes of the output; the rest is read and dropped, so that the command never blocks. */
function captureOutput(child: ChildProcess, most: number): () => string {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const stream of [child.stdout, child.stderr]) {
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
