/**
 * Resolves a kubeconfig in a child process of this program, so that the memory of client-node is free again when the child ends.
 *
 * The child writes two lines of JSON to its standard output, a pipe: the target as soon as it is known, so that an agent starts while
 * a plugin or an issuer does not answer, then the credentials. Credentials are in no argument, file or log.
 * Guarantees: the child is killed after `timeoutMs` and when the signal aborts. Whatever it prints or does not print, both promises
 * settle; errors show its stderr, never its stdout.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Environment } from "./proxy.ts";
import type { Credentials, Resolution, Resolve, Target } from "./resolution.ts";

export interface ChildOptions {
  env: Environment;
  /** Longer than the timeouts of plugins and issuers, whose errors say more. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A new version of the program may be installed while an older one runs and starts it as its child. */
const format = 1;

interface Line<T> {
  format: number;
  value?: T;
  problem?: string;
}

/** In the child: writes the result of `resolve`, line by line. */
export async function writeResolution(
  resolve: () => Promise<Resolution>,
  write: (text: string) => void,
): Promise<void> {
  const writeLine = async (work: Promise<unknown>) => {
    const line = await work.then(
      (value) => ({ format, value }),
      (error) => ({ format, problem: (error as Error).message }),
    );
    write(`${JSON.stringify(line)}\n`);
  };
  const resolution = resolve();
  await writeLine(resolution.then(({ target }) => target));
  await resolution.then(({ credentials }) => writeLine(credentials), () => {});
}

/** In the parent: returns a function that runs this command and reads its lines. */
export function resolveInChild([program = "", ...args]: string[], options: ChildOptions): Resolve {
  const { env, timeoutMs = 90_000, signal } = options;
  return async ({ rejected }) => {
    const child = spawn(program, [...args, ...rejected ? ["--rejected"] : []], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      signal,
    });
    const lines = readLines(child, timeoutMs);
    const credentials = lines.second.then((text) => parseLine<Credentials>(text));
    credentials.catch(() => {});
    return { target: parseLine<Target>(await lines.first), credentials };
  };
}

/** Resolves to the first two lines of the child; both reject if it ends without them. */
function readLines(child: ChildProcess, timeoutMs: number) {
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  first.promise.catch(() => {});
  second.promise.catch(() => {});
  const fail = (why: string) => {
    const error = new Error(`the process that reads the kubeconfig ${why}`);
    first.reject(error);
    second.reject(error);
  };
  let [count, stderr] = [0, ""];
  child.stderr!.setEncoding("utf8").on("data", (chunk) => stderr = (stderr + chunk).slice(-1000));
  createInterface({ input: child.stdout! }).on(
    "line",
    (line) => (count++ === 0 ? first : second).resolve(line),
  );
  child.on("error", (error) => fail(`cannot run: ${error.message}`));
  child.on("close", (code, killer) => {
    const how = killer === "SIGKILL"
      ? `was killed, after ${timeoutMs} ms at the latest`
      : killer ?? `ended with code ${code}`;
    fail(`${how}${stderr && `: ${stderr.trim()}`}`);
  });
  return { first: first.promise, second: second.promise };
}

function parseLine<T>(text: string): T {
  let line: Partial<Line<T>> | undefined;
  try {
    line = JSON.parse(text);
  } catch {
    // The parser's message would quote the text.
  }
  if (line?.problem) throw new Error(line.problem);
  if (line?.format === format && line.value) return line.value;
  throw new Error(
    "the process that reads the kubeconfig printed something else than its result; " +
      "if nckubelet was updated, restart this process",
  );
}
