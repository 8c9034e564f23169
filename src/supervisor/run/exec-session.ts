/**
 * A command that somebody runs inside of an app and talks to, by pipes or on a terminal: `nckubelet exec`, and kubectl's exec.
 *
 * The terminal is made by script(1), since Node cannot make one: on the caller's own, the app's user could inject keystrokes
 * (TIOCSTI). It is part of util-linux, but some systems leave it out.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants as fsConstants, readdir, readFile, readlink } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { runProgram } from "../../lib/deadlines/deadlines.ts";
import { sleep } from "../../lib/sleep.ts";
import { cleanPath, shellQuote } from "../../lib/shell.ts";
import type { Entrance } from "../launcher/launcher.ts";
import { endSession } from "./end-session.ts";
import { execCommandLine } from "./enter.ts";

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ExecSession {
  /** Undefined if the command gets no input. */
  stdin?: Writable;
  stdout: Readable;
  /** Undefined on a terminal, which has one output. */
  stderr?: Readable;
  /** Resolves to the exit code when the command has ended; 128 and more for signals. Rejects if it cannot be started. */
  exited: Promise<number>;
  /** Sets the size of the terminal, as soon as there is one. */
  resize(size: TerminalSize): void;
  /** Ends the command and everything in its session: politely, then for certain. */
  end(): void;
}

export interface ExecSessionOptions {
  launcher: Entrance;
  /** The main process of the app, for $NCAPP_PID. */
  pid?: number;
  terminal: boolean;
  /** Whether the command gets input. */
  input: boolean;
  /** Where script(1) is looked for. */
  searchPath?: string;
}

export const noTerminal =
  "script(1) is not on the PATH; install util-linux (Debian: bsdutils, Fedora: util-linux-script)";

const findTerminalMs = 5000;
const resizeMs = 5000;

/** Starts a command in the run. */
export async function startExecSession(
  runFolder: string,
  command: string[],
  { launcher, pid, terminal, input, searchPath = cleanPath }: ExecSessionOptions,
): Promise<ExecSession> {
  const script = terminal ? await findScriptProgram(searchPath) : undefined;
  if (terminal && script === undefined) throw new Error(`no terminal for the command: ${noTerminal}`);
  const words = await execCommandLine(runFolder, command, { launcher, pid, onTerminal: terminal });
  const [file = "", ...args] = script ? terminalCommand(script, words) : words;
  const child = spawn(file, args, {
    cwd: "/",
    env: { PATH: cleanPath, SHELL: "/bin/sh", ...(terminal ? { TERM: "xterm" } : {}) },
    stdio: [input ? "pipe" : "ignore", "pipe", terminal ? "ignore" : "pipe"],
    // script(1) starts no session of its own; without one, a signal to the agent's group would reach it.
    detached: terminal,
  });
  // A command that ends before it has read its input is no error.
  child.stdin?.on("error", () => {});
  return {
    stdin: child.stdin ?? undefined,
    stdout: child.stdout!,
    stderr: child.stderr ?? undefined,
    exited: exitCodeOf(child),
    resize: createResizer(child),
    end: () => endSession(child),
  };
}

/** Finds script(1). */
export async function findScriptProgram(searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(":").filter((folder) => folder.startsWith("/"))) {
    const path = join(folder, "script");
    if (await access(path, fsConstants.X_OK).then(() => true, () => false)) return path;
  }
  return undefined;
}

/** Gives a command a terminal. It belongs to the session that script(1) starts, so the command must not start another one. */
export function terminalCommand(script: string, words: string[]): string[] {
  return [script, "-qefc", `exec ${words.map(shellQuote).join(" ")}`, "/dev/null"];
}

/** Resolves to the exit code of a process as shells report it. */
export async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code, signal] = await once(child, "exit") as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

/** Applies sizes one after the other; of those that come meanwhile only the last. */
function createResizer(child: ChildProcess): (size: TerminalSize) => void {
  let wanted: TerminalSize | undefined;
  let path: string | undefined;
  let isBusy = false;
  const work = async () => {
    path ??= await findTerminal(child);
    while (wanted && path) {
      const { rows, columns } = wanted;
      wanted = undefined;
      await runProgram("stty", ["-F", path, "rows", `${rows}`, "cols", `${columns}`], {
        timeoutMs: resizeMs,
      });
    }
  };
  return (size) => {
    wanted = size;
    if (isBusy) return;
    isBusy = true;
    // The terminal may be gone, and its size with it.
    work().catch(() => {}).finally(() => isBusy = false);
  };
}

/** Returns the terminal that script(1) has made, by the descriptor of its other end; waits until there is one. */
async function findTerminal(child: ChildProcess): Promise<string | undefined> {
  const { pid } = child;
  for (let waited = 0; child.exitCode === null && waited < findTerminalMs; waited += 20) {
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      if (!target.endsWith("/ptmx")) continue;
      const info = await readFile(`/proc/${pid}/fdinfo/${descriptor}`, "utf8").catch(() => "");
      const index = /^tty-index:\s*(\d+)$/m.exec(info)?.[1];
      if (index !== undefined) return `/dev/pts/${index}`;
    }
    await sleep(20);
  }
  return undefined;
}
