/**
 * Checks paths that users name, in a shell of its own that uses only what is built into it: a check costs no process.
 *
 * Guarantees:
 * - No thread of this process touches the path. A check ends within `timeoutMs` with a FileTimeoutError.
 * - A path that hangs delays others by `slowMs` at most, and only the first time: its shell is left to it, and another one serves the
 *   rest. Its next check gets a shell of its own at once.
 * - There is at most one shell per hung path, even if the kernel cannot kill it.
 * - An idle shell ends after `idleMs`, and with this process.
 *
 * Caveat: shells drop NUL bytes, so a first line with NUL bytes is returned without them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cleanPath, shellQuote } from "../shell.ts";
import { FileTimeoutError, fileTimeoutMs } from "./file-timeout.ts";

export interface PathCheck {
  /** "missing" also means that it cannot be examined; "unreadable" is a file that cannot be opened. */
  kind: "file" | "folder" | "other" | "missing" | "unreadable";
  executable: boolean;
  /** The first line of a file with its end, one character per byte. */
  firstLine: string;
}

export interface PathChecker {
  /** `label` names the path in messages. */
  check(path: string, label: string, signal?: AbortSignal): Promise<PathCheck>;
}

export interface PathCheckerOptions {
  timeoutMs?: number;
  slowMs?: number;
  idleMs?: number;
}

const script = `check() {
  kind=missing first= end= executable=
  if [ -f "$1" ]; then
    kind=unreadable
    { kind=file; IFS= read -r first && end=end; } <"$1"
    [ ! -x "$1" ] || executable=executable
  elif [ -d "$1" ]; then kind=folder
  elif [ -e "$1" ]; then kind=other
  fi
  printf '%s %s %s\\n%s\\n' "$kind" "$executable" "$end" "$first"
}
`;

interface Request {
  path: string;
  label: string;
  /** Those who get the answer. */
  asked: ((answer: PathCheck | Error) => void)[];
}

/** A shell serves one request at a time. */
interface Shell {
  child: ChildProcess;
  /** Receives the answer, or undefined if the shell ended without one. */
  onAnswer?: (answer: PathCheck | undefined) => void;
}

/** The checker that all users share. */
export const checkPath: PathChecker["check"] = (...args) => (shared ??= createPathChecker()).check(...args);
let shared: PathChecker | undefined;

export function createPathChecker(
  { timeoutMs = fileTimeoutMs, slowMs = 50, idleMs = 10_000 }: PathCheckerOptions = {},
): PathChecker {
  const queue: Request[] = [];
  /** Paths that did not answer the last time, and whether the shell of that check still exists. */
  const hung = new Map<string, { shellLives: boolean }>();
  let busy = false;
  let idle: { shell: Shell; timer: NodeJS.Timeout } | undefined;

  const takeShell = () => {
    clearTimeout(idle?.timer);
    const shell = idle?.shell ?? startShell((ended) => {
      if (idle?.shell === ended) idle = undefined;
    });
    idle = undefined;
    return shell;
  };
  const returnShell = (shell: Shell) => {
    if (idle) return endShell(shell);
    const timer = setTimeout(() => {
      idle = undefined;
      endShell(shell);
    }, idleMs);
    timer.unref();
    idle = { shell, timer };
  };

  const serve = (shell: Shell, { path, label, asked }: Request, onEnd: () => void) => {
    const done = (answer: PathCheck | Error) => asked.forEach((settle) => settle(answer));
    const timer = setTimeout(() => {
      const entry = { shellLives: true };
      hung.set(path, entry);
      shell.child.once("exit", () => entry.shellLives = false);
      shell.onAnswer = undefined;
      shell.child.kill("SIGKILL");
      done(new FileTimeoutError(label, timeoutMs));
      onEnd();
    }, timeoutMs);
    shell.onAnswer = (answer) => {
      clearTimeout(timer);
      shell.onAnswer = undefined;
      hung.delete(path);
      if (answer) returnShell(shell);
      done(answer ?? new Error(`${label}: the shell that checks paths has ended`));
      onEnd();
    };
    shell.child.stdin?.write(`check ${shellQuote(path)}\n`);
  };

  /** Serves the queue, one request after the other. */
  const pump = () => {
    const request = busy ? undefined : queue.shift();
    if (!request) return;
    busy = true;
    let isOurs = true;
    const next = () => {
      clearTimeout(slow);
      if (!isOurs) return;
      isOurs = busy = false;
      pump();
    };
    const slow = setTimeout(next, slowMs);
    serve(takeShell(), request, next);
  };

  return {
    check(path, label, signal) {
      return new Promise((resolve, reject) => {
        if (path.includes("\0")) return resolve({ kind: "missing", executable: false, firstLine: "" });
        const known = hung.get(path);
        if (known?.shellLives) return reject(new FileTimeoutError(label, timeoutMs));
        const onAbort = () => reject(signal?.reason);
        if (signal?.aborted) return onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
        const done = (answer: PathCheck | Error) => {
          signal?.removeEventListener("abort", onAbort);
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        };
        if (known) return serve(takeShell(), { path, label, asked: [done] }, () => {});
        // Apps that start together often have the same script.
        const waiting = queue.find((request) => request.path === path && request.label === label);
        if (waiting) return void waiting.asked.push(done);
        queue.push({ path, label, asked: [done] });
        pump();
      });
    },
  };
}

function startShell(onEnd: (shell: Shell) => void): Shell {
  const child = spawn("/bin/sh", [], {
    cwd: "/",
    env: { PATH: cleanPath, LC_ALL: "C" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const shell: Shell = { child };
  let text = "";
  const end = () => {
    onEnd(shell);
    shell.onAnswer?.(undefined);
  };
  child.on("error", end).on("exit", end);
  child.stdin.on("error", () => {});
  child.stdout.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
    const answer = /^(\w+) (\w*) (\w*)\n([^\n]*)\n$/.exec(text);
    if (!answer) return;
    const [, kind, executable, end, first] = answer;
    text = "";
    shell.onAnswer?.({
      kind: kind as PathCheck["kind"],
      executable: executable !== "",
      firstLine: first + (end ? "\n" : ""),
    });
  });
  child.stdin.write(script);
  // Timers keep this process alive while it waits for an answer; an idle shell must not.
  for (const handle of [child, child.stdin, child.stdout]) (handle as { unref?: () => void }).unref?.();
  return shell;
}

function endShell({ child }: Shell): void {
  child.stdin?.end();
}
