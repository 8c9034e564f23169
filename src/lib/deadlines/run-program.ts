import { Buffer } from "node:buffer";
import { execFile } from "node:child_process";
import { cleanPath } from "../shell.ts";

export interface RunProgramOptions {
  /** The search path. */
  path?: string;
  timeoutMs: number;
  /** Ends the program; by default after `timeoutMs`. */
  signal?: AbortSignal;
}

/**
 * Runs a program and returns its output. Ends in time, even if the program cannot be killed. The message of an error has what it wrote to
 * standard error; its exit status or errno is the `code` of the cause.
 */
export function runProgram(
  program: string,
  args: string[],
  { path = cleanPath, timeoutMs, signal = AbortSignal.timeout(timeoutMs) }: RunProgramOptions,
): Promise<Buffer> {
  const failed = (why: string, cause: Error) =>
    new Error(`${[program, ...args].join(" ")}: ${why}`, { cause });
  // A directory group may have many thousand members.
  const options = {
    env: { PATH: path, LC_ALL: "C" },
    cwd: "/",
    maxBuffer: 1 << 24,
    encoding: "buffer",
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (cause, stdout, stderr) => {
      signal.removeEventListener("abort", giveUp);
      if (!cause) return resolve(Buffer.from(stdout));
      reject(failed(stderr.toString().trim() || `ended with ${cause.signal ?? cause.code}`, cause));
    });
    child.stdin?.end();
    // Not with `timeout` of execFile, which waits for processes that cannot be killed, nor with `signal`, which sends no SIGKILL.
    const giveUp = () => {
      child.kill("SIGKILL");
      reject(failed(`no answer within ${timeoutMs / 1000} s`, signal.reason));
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
}
