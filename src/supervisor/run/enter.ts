/**
 * Runs a command inside of an app: in its cgroup, as its user, with its environment and in its folder. Stop files, exec
 * probes and `nckubelet exec` all come through here, and they meet the app as it was started, whatever the spec says by now.
 * A stop file is a part of the app, and writes to its log; the others visit it, see visitors.ts.
 */
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { errorCode, writeNew } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { cleanPath } from "../../lib/shell.ts";
import { entryScript } from "./launcher-script.ts";
import { environmentPath, runFolder as folderOfRun, type RunLayout } from "../layout.ts";
import { checkEnvironment } from "./run-environment.ts";
import { visitorMarker } from "./exec-processes.ts";

/** How the run was started; kept in its folder. */
export interface Inside {
  leaf: string;
  /** The command prefix that changes session and user. */
  privileges: string[];
  workingDir: string;
  /** The group that it runs as. */
  gid: number;
  /** The file of its environment. An earlier agent kept it in the folder of the run, and did not say so. */
  environment?: string;
}

export interface InsideResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  output: string;
}

/** What a run was started with is lost: nobody gets inside of it any more, and only a restart of its app mends that. */
export class LostWayInError extends Error {
  override name = "LostWayInError";
}

type Ending = [code: number | null, signal: NodeJS.Signals | null];

const afterKillMs = 1000;

const joinScript = `leaf=$1 environment=$2 log=$3
shift 3
[ -z "$leaf" ] || echo 0 >"$leaf/cgroup.procs" || exit 126
{ echo 0 >/proc/self/oom_score_adj; } 2>/dev/null
umask 022
if [ -n "$log" ]; then exec >>"$log" 2>&1; fi
exec "$@" 3<"$environment"`;

const insideFile = (runFolder: string) => join(runFolder, "inside.json");

/** Remembers how a run is started. */
export async function saveInside(runFolder: string, inside: Inside): Promise<void> {
  await writeNew(insideFile(runFolder), JSON.stringify(inside));
}

/** How a run was started; a file that cannot be of this run is an error. */
export async function readInside(runFolder: string): Promise<Inside> {
  const path = insideFile(runFolder);
  const inside: Inside = JSON.parse(await readFile(path, "utf8"));
  const { leaf, privileges, workingDir } = inside ?? {};
  const isLeaf = leaf === "" ||
    (typeof leaf === "string" && leaf === join("/", leaf) && basename(leaf) === basename(runFolder));
  if (isLeaf && Array.isArray(privileges) && typeof workingDir === "string") return inside;
  throw new Error(`${path} does not say how this run was started`);
}

/** The cgroup that a run was begun in, "" without one; undefined where that cannot be told. */
export async function readLeaf(runFolder: string): Promise<string | undefined> {
  return (await readInside(runFolder).catch(() => undefined))?.leaf;
}

/** Removes the environment of a run: also from where an agent with another socket has put it. */
export async function removeEnvironment(layout: RunLayout, runId: string): Promise<void> {
  const inside = await readInside(folderOfRun(layout, runId)).catch(() => undefined);
  await rm(environmentPath(layout, runId), { force: true });
  // A disk that damaged the file must not make us remove just anything.
  const elsewhere = String(inside?.environment ?? "");
  if (basename(elsewhere) === runId) await rm(elsewhere, { force: true });
}

/** The command that becomes the app's user, takes its environment, enters its folder and goes on as `command`. */
export function entryCommand({ privileges, workingDir }: Inside, command: string[]): string[] {
  return [...privileges, "/bin/sh", "-c", entryScript, "nckubelet-entry", workingDir, ...command];
}

/** The full command line by which somebody visits the run. */
export async function insideCommand(runFolder: string, command: string[]): Promise<string[]> {
  const words = await commandLine(runFolder, command, "");
  return ["/usr/bin/env", `${visitorMarker}=${basename(runFolder)}`, ...words];
}

/**
 * Runs a command inside of the run and waits for its end; when the time is over its process is killed. Its output goes to
 * `log`, or the first `captureBytes` of it into the result. The signal ends the wait alone, by an error: the command goes on.
 */
export async function runInside(
  runFolder: string,
  command: string[],
  { timeoutMs, log, captureBytes = 0, signal: patience }: {
    timeoutMs: number;
    log?: string;
    captureBytes?: number;
    signal?: AbortSignal;
  },
): Promise<InsideResult> {
  const [file = "", ...args] = await commandLine(runFolder, command, log ?? "");
  const env = { PATH: cleanPath, ...(log ? {} : { [visitorMarker]: basename(runFolder) }) };
  patience?.throwIfAborted();
  const output = captureBytes > 0 ? "pipe" : "ignore";
  // Not detached: a group leader's setsid would fork, and nobody would wait for the command itself.
  const child = spawn(file, args, { cwd: "/", env, stdio: ["ignore", output, output] });
  const captured = captureOutput(child, captureBytes);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killSession(child);
  }, timeoutMs);
  const given = new AbortController();
  try {
    // A process that even SIGKILL does not end must not hold up whoever waits.
    const unkillable = sleep(timeoutMs + afterKillMs, given.signal).then(() => [null, "SIGKILL"]);
    const [code, signal] = await Promise.race([
      once(child, "exit", { signal: patience }),
      unkillable,
    ]) as Ending;
    return { code, signal, timedOut, output: captured() };
  } finally {
    given.abort();
    clearTimeout(timer);
    // One that goes on must not keep the agent from its end.
    child.unref();
    // What the command left in the background may hold the other ends for ever.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** The command line that runs `command` inside of the run; its output goes to `log`, if one is given. */
async function commandLine(runFolder: string, command: string[], log: string): Promise<string[]> {
  const { inside, environment } = await findWayIn(runFolder);
  const entry = entryCommand(inside, command);
  return ["/bin/sh", "-c", joinScript, "nckubelet-inside", inside.leaf, environment, log, ...entry];
}

async function findWayIn(runFolder: string): Promise<{ inside: Inside; environment: string }> {
  try {
    const inside = await readInside(runFolder);
    const environment = inside.environment ?? join(runFolder, "environment");
    await checkEnvironment(environment);
    return { inside, environment };
  } catch (error) {
    const { message, cause } = error as Error;
    // A file that is gone or damaged stays so. One that cannot be read now, for want of descriptors say, is not lost.
    const isLost = !isSystemError(cause ?? error) || errorCode(cause ?? error) === "ENOENT";
    throw isLost ? new LostWayInError(message, { cause: error }) : error;
  }
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}

/** Keeps the first bytes of what the command says; the rest is read and dropped, so that it never blocks. */
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

/** Ends the command with what it started, or just itself where it has no session of its own yet. */
function killSession(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
